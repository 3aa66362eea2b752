"""Supervision of a job in this process, and the start of a process for it."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistribute import storage
from tfdistribute.cluster.managed import ManagedCluster
from tfdistribute.cluster.spec import Cluster
from tfdistribute.errors import BackendError, TfdistributeError, from_values
from tfdistribute.launch import failures, job_files
from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.host.processes import StopRequests
from tfdistribute.launch.job import FILE, Job, read_job, write_job
from tfdistribute.launch.job_files import QUEUED, STATE_FILE
from tfdistribute.launch.job_handle import adopt, handle_of, reap_supervisors
from tfdistribute.launch.reports.report import OnState
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.schedulers.registry import scheduler_of
from tfdistribute.launch.setup import Allocation, set_up
from tfdistribute.launch.state import result_of
from tfdistribute.launch.supervisor import Supervisor

START_S = 20.0

_TICK_S = 0.005

_LOG = "supervisor.log"

# Fast startup: Python ignores environment variables and installed packages.
_OPTIONS = ("-I", "-S")
_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from tfdistribute.launch.start import main; sys.exit(main(sys.argv[1:]))"
)

# Exit codes of the supervisor by the last state of its job.
CODES = {"done": 0, "failed": 1, "refused": 2, "stopped": 130}


def supervise(
    job: Job,
    on_state: OnState | None = None,
    allocation: Allocation | None = None,
) -> dict[str, Any]:
    """Run a job to its end and return its last state; TfdistributeError if nothing could be started.

    All children of this process are killed with the job, so the process should have no others. ``on_state`` is called
    with the state at most ten times a second.
    """
    private_directory.lock(job.directory)
    allocation = allocation or Allocation()
    values: dict[str, Any] = {}
    with StopRequests(allocation.signals) as stops:
        setup = set_up(job)
        processes.adopt_orphans()
        try:
            values = Supervisor(job, setup, stops, on_state, allocation).run()
        finally:
            processes.kill_children()
            setup.release()
            if values.get("state") == QUEUED:
                private_directory.release(job.directory)
            else:
                private_directory.remove(job.directory)
    return values


def new_directory(cluster: Cluster, model_dir: str | None) -> str:
    """Make the private directory of a job, where all of its processes see it."""
    if scheduler_of(cluster) is not None:
        return client.new_directory(cluster, model_dir, os.getcwd())
    return private_directory.new_directory(runs_elsewhere=isinstance(cluster, ManagedCluster))


def start_job(job: Job) -> dict[str, Any]:
    """Submit a job to its scheduler, or start its supervisor, and return its handle."""
    if scheduler_of(job.cluster) is not None:
        return client.submit_job(job)
    return start_supervisor(job)


def start_supervisor(job: Job) -> dict[str, Any]:
    """Start the supervisor of a job that this process has locked, and return its handle.

    Raises TfdistributeError if nothing could be started, and removes the private directory.
    """
    reap_supervisors()
    try:
        write_job(job)
        supervisor = _start_process(job)
    except TfdistributeError:
        private_directory.remove(job.directory)
        raise
    except OSError as error:
        private_directory.remove(job.directory)
        raise BackendError(
            f'The supervisor of the job cannot be started with "{sys.executable}" in "{job.directory}": '
            f"{error.strerror}.",
            "Check the space for temporary files, and tfdistribute_sitrep() for the Python.",
        ) from error
    adopt(supervisor)
    state = _first_state(job, supervisor)
    if state is None or state.get("state") == "refused":
        raise _refusal(job.directory, supervisor, state)
    # From here on the directory lives as long as the supervisor.
    private_directory.release(job.directory)
    return handle_of(state, job.directory)


def main(arguments: Sequence[str]) -> int:
    """Run as the supervisor of a private directory; return one of ``CODES``."""
    directory = os.path.abspath(arguments[0])
    private_directory.check_private(directory)
    private_directory.lock(directory, int(arguments[1]))
    try:
        return CODES[supervise(read_job(os.path.join(directory, FILE)))["state"]]
    except TfdistributeError as error:
        refusal = {
            "id": private_directory.job_id(directory),
            "pid": os.getpid(),
            "state": "refused",
            "failure": failures.error_failure(error),
        }
        storage.write_object(os.path.join(directory, STATE_FILE), refusal)
        return CODES["refused"]


def _start_process(job: Job) -> subprocess.Popen[bytes]:
    lock = private_directory.lock(job.directory)
    root = str(Path(__file__).parents[2])
    options = [*_OPTIONS, *(["-B"] if sys.dont_write_bytecode else [])]
    with open(os.path.join(job.directory, _LOG), "wb") as log:
        return subprocess.Popen(
            [sys.executable, *options, "-c", _CODE, root, job.directory, str(lock)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=job.working_directory,
            pass_fds=[lock],
            start_new_session=True,
        )


def _first_state(job: Job, supervisor: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        code = supervisor.poll()
        state = job_files.read(job.directory, STATE_FILE)
        if state is not None or code == CODES["refused"]:
            return state
        if code is not None:
            # A job that has ended already has removed its private directory.
            return result_of(
                {"id": job.id, "logs": job.log_directories[0], "model_dir": job.model_dir}
            )
        time.sleep(_TICK_S)
    return None


def _refusal(
    directory: str, supervisor: subprocess.Popen[bytes], state: dict[str, Any] | None
) -> TfdistributeError:
    with contextlib.suppress(OSError):
        supervisor.kill()
    supervisor.wait()
    reap_supervisors()
    text = ""
    with contextlib.suppress(OSError):
        text = Path(directory, _LOG).read_text(encoding="utf-8", errors="replace").strip()
    private_directory.remove(directory)
    if state is not None:
        return from_values(state["failure"])
    return BackendError(
        f"The supervisor of the job did not start: {text.splitlines()[-1] if text else 'its log is empty'}",
        "See tfdistribute_sitrep() for what is missing.",
    )
