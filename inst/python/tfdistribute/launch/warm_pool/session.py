"""Waiting supervisors of this session, and the start of any supervisor."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_handle import adopt, reap_supervisors
from tfdistribute.launch.state import read_json
from tfdistribute.launch.warm_pool.conditions import conditions_of
from tfdistribute.launch.warm_pool.waiting import STATE_FILE

LOG = "supervisor.log"

# How long a waiting supervisor may take to answer, and to end.
_ANSWER_S = 5.0
_END_S = 5.0

# Fast startup: Python ignores environment variables and installed packages.
_OPTIONS = ("-I", "-S")
_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from tfdistribute.launch.start import main; sys.exit(main(sys.argv[1:]))"
)


@dataclass
class _Waiting:
    """A supervisor that waits for its job.

    Args:
        is_idle: Whether it was prepared for some later job, and not for one that is being written.
        session: Process that can use it. A forked child knows it, too.
    """

    job: Job
    process: subprocess.Popen[bytes]
    channel: socket.socket
    conditions: Mapping[str, Any] = field(repr=False)
    is_idle: bool = False
    session: int = field(default_factory=os.getpid)

    def send(self, message: Mapping[str, Any]) -> bool:
        """Send a message; return False if the supervisor has ended."""
        try:
            self.channel.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def prepares(self, job: Job) -> bool:
        """Ask for the processes of a job; return whether the supervisor has agreed."""
        try:
            return (
                not self._is_suspended()
                and self.send({"prepare": _values(job)})
                and self.channel.recv(1) != b""
            )
        except OSError:
            return False

    def end(self) -> None:
        """End the supervisor: it does so itself, or is killed, and the kernel kills its processes with it."""
        self.channel.close()
        try:
            self.process.wait(0 if self._is_suspended() else _END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_S)
            private_directory.remove(self.job.directory)

    def _is_suspended(self) -> bool:
        return processes.activity(self.process.pid).is_suspended


# By private directory; and the jobs of this session that were started by one, for which processes can be kept.
_waiting: dict[str, _Waiting] = {}
_started: dict[str, Job] = {}


def open_directory(job: Job) -> str:
    """Begin to prepare the processes of a job, and return its private directory.

    Processes of an earlier job that are still there are used if they were started under the same conditions.
    """
    conditions = conditions_of(job)
    idle = (each for each in _waiting.values() if each.is_idle and each.session == os.getpid())
    candidate = next(idle, None)
    if candidate is not None and candidate.conditions == conditions and candidate.prepares(job):
        candidate.is_idle = False
        return candidate.job.directory
    end_waiting()
    directory = private_directory.new_directory()
    # The start of the job tells why a process cannot be started.
    with contextlib.suppress(OSError):
        _start_waiting(directory, job, conditions, None)
    return directory


def keep(directory: str) -> None:
    """Prepare processes for the next job, if the one with this private directory was the last and has ended."""
    job = _started.pop(directory, None)
    if job is None or job.idle_s <= 0 or not os.path.isdir(job.working_directory):
        return
    end_waiting()
    # The last job is done, whether or not there can be processes for the next.
    with contextlib.suppress(OSError):
        directory = private_directory.new_directory()
        try:
            _start_waiting(directory, job, conditions_of(job), job.idle_s)
        except OSError:
            private_directory.remove(directory)


def end_waiting(directory: str | None = None) -> None:
    """End the waiting supervisor of a private directory, or all of them."""
    for each in [directory] if directory is not None else list(_waiting):
        waiting = _waiting.pop(each, None)
        if waiting is not None:
            waiting.end()
    reap_supervisors()


def waiting_states() -> list[dict[str, Any]]:
    """Return ``pids`` and ``is_ready`` of the processes that each idle supervisor has prepared."""
    reap_supervisors()
    idle = [each for each in _waiting.values() if each.is_idle]
    states = [read_json(os.path.join(each.job.directory, STATE_FILE)) for each in idle]
    return [state for state in states if state is not None]


def start_process(job: Job) -> subprocess.Popen[bytes]:
    """Start the supervisor of a job that is written, or tell the one that waits for it.

    Raises:
        OSError: the program cannot be run.
    """
    waiting = _waiting.pop(job.directory, None)
    if waiting is not None:
        is_told = waiting.send({"run": True})
        waiting.channel.close()
        if is_told:
            _started.clear()
            _started[job.directory] = job
            return waiting.process
    return _spawn(job, subprocess.DEVNULL)


def _start_waiting(
    directory: str, job: Job, conditions: Mapping[str, Any], idle_s: float | None
) -> None:
    job = dataclasses.replace(job, directory=directory)
    own, theirs = socket.socketpair()
    own.settimeout(_ANSWER_S)
    with theirs:
        process = _spawn(job, theirs.fileno())
    # From here on the directory lives as long as the supervisor.
    private_directory.release(directory)
    adopt(process)
    _waiting[directory] = _Waiting(job, process, own, conditions, idle_s is not None)
    # A supervisor that ends at once is noticed when it gets its job.
    _waiting[directory].send({"prepare": _values(job), "idle_s": idle_s})


def _values(job: Job) -> dict[str, Any]:
    cluster = {"kind": job.cluster.kind, **dataclasses.asdict(job.cluster)}
    return {**dataclasses.asdict(job), "cluster": cluster}


def _spawn(job: Job, standard_input: int) -> subprocess.Popen[bytes]:
    lock = private_directory.lock(job.directory)
    root = str(Path(__file__).parents[3])
    options = [*_OPTIONS, *(["-B"] if sys.dont_write_bytecode else [])]
    with open(os.path.join(job.directory, LOG), "wb") as log:
        return subprocess.Popen(
            [sys.executable, *options, "-c", _CODE, root, job.directory, str(lock)],
            stdin=standard_input,
            stdout=log,
            stderr=log,
            cwd=job.working_directory,
            pass_fds=[lock],
            start_new_session=True,
        )
