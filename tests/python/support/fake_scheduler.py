"""A scheduler whose nodes are this machine, and whose queue is a directory with a folder for each job.

Its acts are files in the directory: "full" lets new jobs wait, and "silent" lets it give no answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from support.job_fakes import TRAINS, command
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.spec import Cluster, Workers
from tfdistribute.descriptions import read
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.launch.host import private_directory as private
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.channel import CommandChannel
from tfdistribute.launch.places.transport import Transport
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.schedulers.registry import SCHEDULERS
from tfdistribute.launch.schedulers.scheduler import QueueEntry, Scheduler, Start

_TESTS = str(Path(__file__).parents[1])
_CODE = (
    "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); from support import fake_scheduler; "
    "from tfdistribute.launch.schedulers.supervisor import main; main(*sys.argv[1:], 'fake')"
)
_SUPERVISOR = (sys.executable, "-c", _CODE, f"{_TESTS}:{Path(_TESTS).parents[1] / 'inst/python'}")
# Starts again what follows the number of a process, once that process has ended.
_AGAIN = 'while kill -0 "$0" 2> /dev/null; do sleep 0.05; done; exec "$@"'


@dataclasses.dataclass(frozen=True, kw_only=True)
class FakeQueueCluster(HostsCluster, kind="fake_queue"):
    workers: Workers
    directory: str
    requeue: bool = True
    hosts: Annotated[tuple[str, ...], Fact.INTERNAL] = ()

    @property
    def names_of_hosts(self) -> tuple[str, ...]:
        return self.hosts or tuple(f"node {number + 1}" for number in range(self.workers))


class FakeScheduler(Scheduler):
    name = "the fake scheduler"
    output = "fake-{}.out"
    time_signal = "SIGUSR1"

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def takes(self, cluster: Cluster) -> bool:
        return isinstance(cluster, FakeQueueCluster)

    def submit(self, job: Job, logs: str) -> str:
        assert isinstance(job.cluster, FakeQueueCluster)
        queue = Path(job.cluster.directory)
        folder = queue / str(len(list(queue.glob("job-*"))))
        folder = folder.with_name(f"job-{folder.name}")
        folder.mkdir()
        (folder / "starts").touch()
        if not (queue / "full").exists():
            output = os.path.join(logs, self.output.format(folder.name))
            with open(output, "wb") as log:
                started = subprocess.Popen(
                    [*_SUPERVISOR, job.directory, str(folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self._started.append(started)
            (folder / "pid").write_text(str(started.pid))
        return str(folder)

    def entry(self, key: str) -> QueueEntry | None:
        for each in self._started:
            each.poll()
        folder = Path(key)
        if (folder.parent / "silent").exists():
            return None
        if (folder / "cancelled").exists():
            return QueueEntry("cancelled")
        if not (folder / "pid").exists():
            return QueueEntry("waits", "all nodes are taken")
        return QueueEntry("runs") if self._pid(key) else QueueEntry("ended", "GONE")

    def _pid(self, key: str) -> int | None:
        pid = int(Path(key, "pid").read_text())
        return pid if Path(f"/proc/{pid}").exists() else None

    def signal(self, key: str, name: str) -> bool:
        pid = self._pid(key)
        if pid is None:
            return False
        os.kill(pid, getattr(signal, f"SIG{name}"))
        return True

    def cancel(self, key: str) -> None:
        if not Path(key, "pid").exists():
            Path(key, "cancelled").touch()
        with contextlib.suppress(FileNotFoundError):
            self.signal(key, "TERM")

    def number(self, key: str) -> str:
        return Path(key).name

    def begin(self, job: Job, where: str) -> Start:
        assert isinstance(job.cluster, FakeQueueCluster)
        Path(where, "pid").write_text(str(os.getpid()))
        with Path(where, "starts").open("r+") as file:
            starts_before = len(file.read())
            file.write(".")
        hosts = tuple(f"fake{index}" for index in range(job.cluster.workers))
        return Start(dataclasses.replace(job.cluster, hosts=hosts), where, starts_before)

    def transports(self, cluster: FakeQueueCluster) -> Callable[[str], Transport]:
        return lambda node: Transport(open=CommandChannel, subject=f"The {node}", when_twice="")

    def may_restart(self, cluster: FakeQueueCluster) -> bool:
        return cluster.requeue

    def restart(self, key: str) -> str | None:
        Path(key, "pid").unlink()
        again = ["sh", "-c", _AGAIN, str(os.getpid()), *sys.orig_argv]
        subprocess.Popen(again, start_new_session=True)
        os._exit(0)


SCHEDULERS["fake"] = FakeScheduler()


def submit(directory: Path, acts: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    """Submit a job with a chief and a worker."""
    described = {
        "kind": "fake_queue",
        "directory": str(directory),
        "workers": 2,
        "evaluator": False,
        "python": sys.executable,
        "lease_s": 5,
        **cluster,
    }
    model_dir = str(directory / "model")
    made = client.new_directory(read(Cluster, described), model_dir, str(directory))
    values = {
        "id": private.job_id(made),
        "cluster": described,
        "verb": "train",
        "command": command({"chief": TRAINS, "worker": TRAINS, **(acts or {})}),
        "directory": made,
        "working_directory": str(directory),
        "model_dir": model_dir,
    }
    return client.submit_job(read(Job, values))
