"""Daemons of mirai: the R session that has set them sends the members, again when a daemon is lost."""

import contextlib
import os
import sys

from tfdistribute import storage
from tfdistribute.errors import ClusterError
from tfdistribute.launch.frameworks.framework import OPTIONS, Framework

# What the session reads in the exchange directory, and what it writes there; see R/job-daemons.R.
MEMBERS = "members.json"
REFUSAL = "refusal.json"


class MiraiFramework(Framework):
    def connect(self) -> str:
        if not self.fields["exchange"]:
            raise ClusterError(
                "`mirai_cluster()` needs the R session that has set the daemons.",
                "Start the training in that session.",
                argument="cluster",
            )
        return str(self.fields["address"])

    def start(self, texts: list[str]) -> None:
        command = [self.fields["python"] or sys.executable, *OPTIONS]
        storage.write_object(self._path(MEMBERS), {"command": command, "texts": texts})

    def watch(self) -> str | None:
        refusal = storage.read_object(self._path(REFUSAL))
        if refusal is not None:
            raise ClusterError(refusal["problem"], refusal["remedy"], argument="cluster")
        return (
            f"the job needs {self.members} daemons that are idle, and can connect to this machine"
        )

    def end(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path(MEMBERS))

    def _path(self, name: str) -> str:
        return os.path.join(self.fields["exchange"], name)
