"""The supervisor as a process: started by a session or by hand. Plain Python."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistribute.errors import BackendError, TfdistributeError, UnsupportedError, from_values
from tfdistribute.launch import failures
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.logs import log_directories
from tfdistribute.launch.job import Job, read_job, write_job
from tfdistribute.launch.job_handle import handle_of, read_json, result_of
from tfdistribute.launch.state import FILE, replace
from tfdistribute.launch.supervisor import supervise

# How long the supervisor may take to say that it runs.
START_S = 20.0

_TICK_S = 0.005

_LOG = "supervisor.log"

# Exit codes of the supervisor: the job is done, failed, could not begin, or was stopped.
CODES = {"done": 0, "failed": 1, "refused": 2, "stopped": 130}

# No environment is read but the job's, and no installed package is looked for: this starts in a few milliseconds.
_OPTIONS = ("-I", "-S")
_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from tfdistribute.launch.start import main; sys.exit(main(sys.argv[1:]))"
)

# Supervisors that this process started; its children, so it must collect them.
_started: dict[int, subprocess.Popen[bytes]] = {}


def start_supervisor(job: Job) -> dict[str, Any]:
    """Start the supervisor of a job and wait until it runs, not until the job is done.

    Args:
        job: The job, whose private directory this process keeps.

    Returns:
        The job's handle: id, pid of the supervisor, private directory, logs, model_dir.

    Raises:
        TfdistributeError: nothing could be started; the private directory is gone then.
    """
    _check_platform()
    try:
        supervisor = _supervisor(job)
    except OSError as error:
        private_directory.remove(job.directory)
        raise BackendError(
            f'The supervisor of the job cannot be started with "{sys.executable}" in "{job.directory}": '
            f"{error.strerror}.",
            "See that there is space for temporary files, and tfdistribute_sitrep() for the Python.",
        ) from error
    _started[supervisor.pid] = supervisor
    state = _first_state(job, supervisor)
    if state is None or state.get("state") == "refused":
        raise _refusal(job.directory, supervisor, state)
    # From here on the directory lives as long as the supervisor.
    private_directory.let_go(job.directory)
    return handle_of(state, job.directory)


def main(arguments: Sequence[str]) -> int:
    """Be the supervisor.

    Args:
        arguments: The path of a job.json, and the number of an open file that holds the directory's lock.

    Returns:
        The exit code, as in ``CODES``.
    """
    path = arguments[0]
    directory = os.path.dirname(os.path.abspath(path))
    private_directory.check_private(directory)
    private_directory.keep(directory, int(arguments[1]) if len(arguments) > 1 else None)
    try:
        return CODES[supervise(read_job(path))["state"]]
    except TfdistributeError as error:
        refusal = {"state": "refused", "pid": os.getpid(), "failure": failures.error_failure(error)}
        replace(os.path.join(directory, FILE), refusal)
        return CODES["refused"]


def collect_ended() -> None:
    """Collect the supervisors that ended, so that none of them stays as a zombie."""
    for pid, supervisor in list(_started.items()):
        if supervisor.poll() is not None:
            del _started[pid]


def _supervisor(job: Job) -> subprocess.Popen[bytes]:
    path = write_job(job)
    keeper = private_directory.keep(job.directory, private_directory.held(job.directory))
    root = str(Path(__file__).parents[2])
    options = [*_OPTIONS, *(["-B"] if sys.dont_write_bytecode else [])]
    with open(os.path.join(job.directory, _LOG), "wb") as log:
        return subprocess.Popen(
            [sys.executable, *options, "-c", _CODE, root, path, str(keeper)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=job.working_directory,
            pass_fds=[keeper],
            start_new_session=True,
        )


def _check_platform() -> None:
    if sys.platform == "win32":
        raise UnsupportedError(
            "A cluster of processes on this machine cannot be started: Windows has no process groups to end them by.",
            "Use Linux, macOS or the Windows Subsystem for Linux, or a strategy of one process.",
            argument="cluster",
        )


def _first_state(job: Job, supervisor: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        code = supervisor.poll()
        state = read_json(os.path.join(job.directory, FILE))
        if state is not None or code == CODES["refused"]:
            return state
        if code is not None:
            # A job that is done at once has removed its private directory.
            logs = log_directories(job.id, job.local_model_dir, job.working_directory)[0]
            return result_of({"id": job.id, "logs": logs})
        time.sleep(_TICK_S)
    return None


def _refusal(
    directory: str, supervisor: subprocess.Popen[bytes], state: dict[str, Any] | None
) -> TfdistributeError:
    with contextlib.suppress(OSError):
        supervisor.kill()
    supervisor.wait()
    collect_ended()
    said = ""
    with contextlib.suppress(OSError):
        said = Path(directory, _LOG).read_text(encoding="utf-8", errors="replace").strip()
    private_directory.remove(directory)
    if state is not None:
        return from_values(state["failure"])
    return BackendError(
        f"The supervisor of the job did not start: {said.splitlines()[-1] if said else 'it said nothing'}",
        "See tfdistribute_sitrep() for what is missing.",
    )
