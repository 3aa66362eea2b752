"""A framework that starts the members of a gang as processes of this machine, and replaces lost ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from support.job_fakes import fake_job
from tfdistribute.cluster.frameworks.framework import FrameworkCluster
from tfdistribute.errors import ClusterError
from tfdistribute.launch.frameworks import gang
from tfdistribute.launch.frameworks.framework import OPTIONS, Framework
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job import write_job

gang.FRAMEWORKS["fake"] = f"{__name__}:FakeFramework"


@dataclass(frozen=True, kw_only=True)
class FakeCluster(FrameworkCluster, kind="fake"):
    """Its acts are files in a directory: "full" lets members wait, "leaving-0" takes one away, "refuse" starts none,
    "gone" ends the framework, "stuck" keeps it from ending."""

    framework: ClassVar[str] = "the fake framework"
    member: ClassVar[str] = "process"
    directory: str


class FakeFramework(Framework):
    def connect(self) -> str:
        if self._has("refuse"):
            raise ClusterError(
                "The fake framework has only one room.",
                "Build rooms.",
                argument="workers",
                value="2",
            )
        return "127.0.0.1"

    def _has(self, act: str) -> bool:
        return Path(self.fields["directory"], act).exists()

    def start(self, texts: list[str]) -> None:
        self._texts = texts
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * len(texts)
        self.watch()

    def watch(self) -> str | None:
        if self._has("gone"):
            raise ClusterError("The fake framework is gone.", "Start it again.")
        if self._has("full"):
            return "all rooms are taken"
        for index, process in enumerate(self._processes):
            if process is None or process.poll() is not None:
                self._processes[index] = self._member(index)
        return None

    def _member(self, index: int) -> subprocess.Popen[bytes]:
        # As Ray: its processes block Ctrl-C, and their group is killed as a whole.
        code = (
            "import signal, subprocess, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); "
            "subprocess.run(sys.argv[1:], stdin=0)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, sys.executable, *OPTIONS],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(self._texts[index].encode())
        process.stdin.close()
        Path(self.fields["directory"], f"member-{index}").write_text(str(process.pid))
        return process

    def leaving(self) -> list[int]:
        return [index for index in range(self.members) if self._has(f"leaving-{index}")]

    def end(self) -> None:
        if self._has("stuck"):
            time.sleep(20)
        for process in getattr(self, "_processes", []):
            if process is not None:
                process.kill()
                process.wait()


@contextmanager
def running(
    mark: Path, acts: Mapping[str, Any], kind: str = "fake", **cluster: Any
) -> Iterator[dict[str, Any]]:
    """A job on the fake framework or another one, whose supervisor is a child of this process."""
    described = {
        "kind": kind,
        **({"directory": str(mark)} if kind == "fake" else {}),
        "workers": 2,
        "evaluator": False,
        "python": sys.executable,
        "lease_s": 5,
        **cluster,
    }
    job = fake_job(mark, acts, cluster=described)
    path = write_job(job)
    private_directory.release(job.directory)
    # Drivers import this module.
    paths = [os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[1])]
    code = (
        "import sys; from support import fake_framework; from tfdistribute.launch.job import read_job; "
        "from tfdistribute.launch.start import supervise; supervise(read_job(sys.argv[1]))"
    )
    with (mark / "supervisor.log").open("wb") as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-c", code, path],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
    handle = {
        "id": job.id,
        "pid": supervisor.pid,
        "directory": job.directory,
        "logs": job.log_directories[0],
        "model_dir": job.model_dir,
        "verb": job.verb,
    }
    try:
        yield handle
        supervisor.wait(30)
    finally:
        supervisor.kill()
        supervisor.wait()
