"""Waiting supervisors of this session, and the start of any supervisor."""

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

from tfdistribute import storage
from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.job import Job, job_values
from tfdistribute.launch.job_handle import adopt, reap_supervisors
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
    # ``is_idle`` means prepared for some later job. ``session`` is the process that can use it, and no forked child.
    job: Job
    process: subprocess.Popen[bytes]
    channel: socket.socket
    conditions: Mapping[str, Any] = field(repr=False)
    is_idle: bool = False
    session: int = field(default_factory=os.getpid)

    def send(self, message: Mapping[str, Any]) -> bool:
        message = {**message, "session": self.session}
        try:
            self.channel.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def prepares(self, job: Job) -> bool:
        try:
            return (
                not self._is_suspended()
                and self.send({"prepare": job_values(job)})
                and self.channel.recv(1) != b""
            )
        except OSError:
            return False

    def end(self) -> None:
        # The kernel kills its processes with it.
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
    """Begin to prepare a job's processes, or reuse an earlier job's, and return the private directory."""
    conditions = conditions_of(job)
    idle = (each for each in _waiting.values() if each.is_idle and each.session == os.getpid())
    candidate = next(idle, None)
    if candidate is not None and candidate.conditions == conditions and candidate.prepares(job):
        candidate.is_idle = False
        return candidate.job.directory
    end_waiting()
    directory = private_directory.new_directory()
    # The start of the job reports why a process cannot be started.
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
    for each in [directory] if directory is not None else list(_waiting):
        waiting = _waiting.pop(each, None)
        if waiting is not None:
            waiting.end()
    reap_supervisors()


def waiting_states() -> list[dict[str, Any]]:
    reap_supervisors()
    idle = [each for each in _waiting.values() if each.is_idle]
    states = [storage.read_object(os.path.join(each.job.directory, STATE_FILE)) for each in idle]
    return [state for state in states if state is not None]


def start_process(job: Job) -> subprocess.Popen[bytes]:
    """Start the supervisor of a job, or notify the one that waits; OSError if the program cannot be run."""
    waiting = _waiting.pop(job.directory, None)
    if waiting is not None:
        # Its processes, which end with it, may still hold the channel.
        is_told = waiting.process.poll() is None and waiting.send({"run": True})
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
    # A supervisor that ends immediately is noticed when it gets its job.
    _waiting[directory].send({"prepare": job_values(job), "idle_s": idle_s})


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
