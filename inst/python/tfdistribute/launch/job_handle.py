"""Operations on a job from outside its supervisor."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tfdistribute import files
from tfdistribute.checkpoints.lock import owner_pid
from tfdistribute.errors import TrainingError
from tfdistribute.launch import failures, job_files
from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.host.logs import LogReader, check_has_log
from tfdistribute.launch.host.remote_logs import COPY_S
from tfdistribute.launch.job_files import STATE_FILE
from tfdistribute.launch.platforms import managed_job
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.state import read_result, result_of, unknown_state

_TICK_S = 0.02
_LOOK_S = 0.2

# How long a supervisor may take to end its tasks before it is killed, which kills them too.
STOP_S = 12.0

_HANDLE = ("id", "pid", "logs", "model_dir", "verb", "scheduler", "key", "max_steps")

Handle = Mapping[str, Any]

# Supervisors that this process started and must reap.
_started: dict[int, subprocess.Popen[bytes]] = {}


def adopt(supervisor: subprocess.Popen[bytes]) -> None:
    _started[supervisor.pid] = supervisor


def reap_supervisors() -> None:
    for pid, supervisor in list(_started.items()):
        if supervisor.poll() is not None:
            del _started[pid]


def handle_of(state: Mapping[str, Any], directory: str) -> dict[str, Any]:
    return {**{name: state.get(name) for name in _HANDLE}, "directory": directory}


def is_running(job: Handle) -> bool:
    """Return whether the supervisor of a job is running, or will be."""
    if client.is_detached(job):
        return job_state(job)["ended"] is None
    return private_directory.is_locked(str(job["directory"]))


def job_state(job: Handle) -> dict[str, Any]:
    """Read the state of a job, or its result; "failed" if the supervisor is gone without a result."""
    if client.is_detached(job):
        return client.conclude_job(job)
    if managed_job.is_submitted(job):
        return managed_job.job_state(job)
    directory, last = str(job["directory"]), dict[str, Any]()
    deadline = time.monotonic() + STOP_S
    while True:
        reap_supervisors()
        running = private_directory.is_locked(directory)
        state = job_files.read(directory, STATE_FILE)
        if running and state is not None:
            return state
        last = state or last
        # The first state may not be written yet. A supervisor whose directory was deleted ends its tasks, and then
        # writes the result.
        result = result_of(job)
        # A result without a process may have been written by another program.
        is_gone = job["pid"] is None or processes.start_time(int(job["pid"])) is None
        if result is not None or is_gone or time.monotonic() > deadline:
            break
        time.sleep(_TICK_S)
    return result or result_of(job) or _gone(job, last)


def job_news(job: Handle, position: str | None = None, level: str = "warning") -> dict[str, Any]:
    """Read the state of a job, and the log lines of at least ``level`` since the ``position`` of the last call."""
    state = job_state(job)
    # The logs of a managed platform are only read when somebody asks for them.
    is_here = not managed_job.is_submitted(job)
    reader = LogReader((state.get("tasks") or []) if is_here else [], position, level)
    lines = reader.read_new()
    return {
        "state": state,
        "lines": lines,
        "position": reader.position,
        "ended": state.get("ended") is not None,
    }


def job_logs(job: Handle, task: str | None = None, level: str = "debug") -> list[str]:
    """Read the lines of one task, or "[worker 1] ..." of all; ArgumentError if there is no such task."""
    if managed_job.is_submitted(job):
        return managed_job.job_logs(job, task, level)
    rows = cast("list[dict[str, Any]]", job_state(job).get("tasks") or [])
    return read_logs(rows, task, level)


def read_logs(rows: list[dict[str, Any]], task: str | None, level: str) -> list[str]:
    """Read the logs in a table with the columns "task", "log" and "log_start"."""
    check_has_log(task, [row["task"] for row in rows])
    chosen = [row for row in rows if task in (None, row["task"])]
    reader, lines = LogReader(chosen, None, level), cast("list[str]", [])
    while new := reader.read_new():
        lines += new
    prefix = f"[{task}] "
    return lines if task is None else [line.removeprefix(prefix) for line in lines]


def wait_for_job(job: Handle) -> dict[str, Any]:
    """Return the last state of a job, which Ctrl-C stops."""
    try:
        while (state := job_state(job))["ended"] is None:
            time.sleep(_LOOK_S)
    except KeyboardInterrupt:
        state = stop_job(job)
    return state


def stop_job(job: Handle, wait_s: float = STOP_S) -> dict[str, Any]:
    """Let the chief save a checkpoint and all tasks end; return the state. With ``wait_s=0``, only send the request."""
    if client.is_detached(job):
        return client.stop(job, wait_s)
    if managed_job.is_submitted(job):
        return managed_job.stop_job(job)
    if job["pid"] is None:
        return job_state(job)
    pid = int(job["pid"])
    if is_running(job):
        os.kill(pid, signal.SIGTERM)
    # The logs of a job with remote storage are moved at its end.
    more_s = COPY_S if wait_s >= STOP_S and files.is_remote(str(job["model_dir"])) else 0.0
    deadline = time.monotonic() + wait_s + more_s
    while is_running(job) and time.monotonic() < deadline:
        time.sleep(_TICK_S)
    if wait_s >= STOP_S and is_running(job):
        # The kernel kills the tasks with it.
        os.kill(pid, signal.SIGKILL)
        while is_running(job):
            time.sleep(_TICK_S)
    return job_state(job)


def running_jobs() -> Iterator[dict[str, Any]]:
    for directory in private_directory.own_directories():
        state = job_files.read(directory, STATE_FILE)
        if state is not None and private_directory.is_locked(directory):
            yield handle_of(state, directory)


def find_job(name: str) -> dict[str, Any] | None:
    """Find a running or waiting job by its id, its model_dir or its log directory; return its handle or None."""
    handle = client.find(name)
    if handle is not None:
        return handle
    path = files.canonical_path(name)
    for job in running_jobs():
        directories = [job["model_dir"], job["logs"]]
        if name == job["id"] or path in [
            files.canonical_path(each) for each in directories if each
        ]:
            return job
    holder = None if files.is_remote(path) else owner_pid(path)
    return next((job for job in running_jobs() if job["pid"] == holder), None)


def last_job(name: str) -> dict[str, Any] | None:
    """Find a job as ``find_job``, or the last one that ended in a model_dir."""
    handle = find_job(name)
    if handle is not None:
        return handle
    logs = os.path.join(files.canonical_path(name), "logs")
    result = read_result(logs)
    return None if result is None else handle_of(result, logs)


def _gone(job: Handle, last: Mapping[str, Any]) -> dict[str, Any]:
    error = TrainingError(
        f"The supervisor of job {job['id']} (pid {job['pid']}) exited unexpectedly; its tasks were killed.",
        "Check whether the machine ran out of memory; train again to continue from the last checkpoint.",
    )
    return {
        **unknown_state(job),
        **last,
        "state": "failed",
        "message": error.problem,
        "ended": time.time(),
        "failure": {**failures.error_failure(error), "log_tail": None},
    }
