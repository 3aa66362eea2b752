"""Jobs whose supervisor a scheduler runs, from outside. Their directory is on a file system that all hosts share."""

import contextlib
import dataclasses
import itertools
import math
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tfdistribute import files, storage
from tfdistribute.cluster.spec import Cluster
from tfdistribute.errors import ModelDirectoryError, TrainingError
from tfdistribute.launch import failures, job_files
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.logs import tail
from tfdistribute.launch.host.private_directory import JOBS, jobs_directory
from tfdistribute.launch.job import Job, write_job
from tfdistribute.launch.job_files import QUEUED, STATE_FILE, SUBMISSION_FILE
from tfdistribute.launch.schedulers.registry import SCHEDULERS, name_of_scheduler, scheduler_of
from tfdistribute.launch.schedulers.scheduler import QueueEntry, Scheduler
from tfdistribute.launch.state import result_of, unknown_state, write_result

# A supervisor is running if it wrote a state within this time. A scheduler is asked at most this often.
_FRESH_S = 5.0
# How long a file may take to be seen on another host, and a job to end after it is canceled.
_VISIBLE_S = 12.0
_END_S = 90.0
_TICK_S = 0.2
# How old a directory may be without having been submitted.
_MOST_AGE_S = 3600.0

Handle = Mapping[str, Any]

# The last answer of the scheduler by job, with its time.
_answers: dict[str, tuple[float, QueueEntry | None]] = {}

# Jobs whose supervisors this process has killed.
_killed: set[str] = set()


def is_detached(job: Handle) -> bool:
    return bool(job.get("scheduler"))


def title_of(job: Handle) -> str:
    its, key = _scheduler_of(job)
    return f"Job {its.number(key) or job['id']} of {its.name}"


def _scheduler_of(job: Handle) -> tuple[Scheduler, str]:
    return SCHEDULERS[job["scheduler"]], str(job.get("key") or "")


def new_directory(cluster: Cluster, model_dir: str | None, working_directory: str) -> str:
    """Make a job's private directory.

    Raises BackendError if jobs cannot be submitted from this machine, and ModelDirectoryError if model_dir is read-only
    or another job trains there.
    """
    its = scheduler_of(cluster)
    if its is not None:
        its.check_available()
    parent = jobs_directory(model_dir, working_directory)
    collect_garbage(parent)
    for job in _jobs_in(parent):
        state = conclude_job(job)
        if state["ended"] is not None and not private_directory.is_locked(job["directory"]):
            # Its supervisor was killed after it had written the result.
            private_directory.remove(job["directory"])
        elif model_dir is not None and job["model_dir"] == model_dir:
            raise ModelDirectoryError(
                f'`model_dir` "{model_dir}" is in use: {title_of(job)} trains there.',
                "Wait until it has ended, stop it by job_stop(job_find(model_dir)), or use another `model_dir`."
                + _remedy_of_silence(job, state),
                value=model_dir,
            )
    try:
        return private_directory.new_directory(parent, runs_elsewhere=True)
    except OSError as error:
        raise ModelDirectoryError(
            f'The job cannot be prepared: "{parent}" cannot be written ({error.strerror}).',
            "Use a `model_dir`, or for remote storage a working directory, that this machine and the nodes share and "
            "that has space on its disk.",
            argument="model_dir",
            value=model_dir,
        ) from error


def submit_job(job: Job) -> dict[str, Any]:
    """Submit a job whose files are in its private directory, which is removed if that fails, and return its handle."""
    # The job survives the session.
    job = dataclasses.replace(job, parent_pid=None)
    try:
        logs = job.log_directories[0]
        os.makedirs(logs, exist_ok=True)
        write_job(job)
        private_directory.release(job.directory)
        name = name_of_scheduler(job.cluster)
        assert name is not None
        its = SCHEDULERS[name]
        handle = {
            "id": job.id,
            "pid": None,
            "scheduler": name,
            "key": its.early_key(job.id),
            "logs": logs,
            "model_dir": job.model_dir,
            "verb": job.verb,
            "max_steps": job.max_steps,
            "directory": job.directory,
        }
        path = os.path.join(job.directory, SUBMISSION_FILE)
        if handle["key"]:
            # The session may end while it submits the job.
            storage.write_object(path, handle)
        handle["key"] = its.submit(job, logs)
        # A job that has ended has removed its directory.
        with contextlib.suppress(FileNotFoundError):
            storage.write_object(path, handle)
    except BaseException:
        private_directory.remove(job.directory)
        raise
    return handle


def find(name: str) -> dict[str, Any] | None:
    """Find a job that runs or waits by its id, its key, its model_dir or its log directory."""
    path = files.canonical_path(name)
    parents = [os.getcwd()] if files.is_remote(path) else [path, os.path.dirname(path), os.getcwd()]
    near = (_jobs_in(os.path.join(parent, JOBS)) for parent in dict.fromkeys(parents))
    # Schedulers are not asked about a directory, which a local job may own.
    known = iter(()) if os.path.exists(path) else own_jobs()
    for job in itertools.chain(*near, known):
        directories = [
            files.canonical_path(job[each]) for each in ("model_dir", "logs") if job[each]
        ]
        is_named = name in (job["id"], job["key"]) or path in directories
        if is_named and conclude_job(job)["ended"] is None:
            return job
    return None


def own_jobs() -> Iterator[dict[str, Any]]:
    directories = [each for its in SCHEDULERS.values() for each in its.own_directories()]
    parents = {os.path.dirname(each) for each in directories if os.path.isabs(each)}
    for parent in sorted(each for each in parents if os.path.basename(each) == JOBS):
        yield from (job for job in _jobs_in(parent) if job["directory"] in directories)


def conclude_job(job: Handle) -> dict[str, Any]:
    """Read the state of a job, or its result. Of a job that is gone without one, write it and remove the directory."""
    result = result_of(job)
    if result is not None:
        return result
    directory = str(job["directory"])
    state = job_files.read(directory, STATE_FILE)
    is_fresh = _age_s(os.path.join(directory, STATE_FILE)) < _FRESH_S
    if state is not None and state["state"] != QUEUED and is_fresh:
        return state
    entry, named = _entry(job), title_of(job)
    message = f"{named} was submitted."
    queued: dict[str, Any] = {"state": QUEUED, "message": message, "ended": None, "failure": None}
    values = {**unknown_state(job), **queued, **(state or {})}
    if entry is None:
        # The job may run where its cluster cannot be asked.
        return {**values, "notes": [*values["notes"], _silence(job)]}
    if entry.phase == "waits":
        why = f" ({entry.words})" if entry.words else ""
        return {**values, "state": QUEUED, "message": f"{named} waits{why}."}
    if entry.phase in ("runs", "ends"):
        return values
    # A supervisor that has written no state cannot have written a result. One that has ended has removed its files,
    # but a network file system may still show the directory.
    has_begun = state is not None or job_files.read(directory, SUBMISSION_FILE) is None
    result = _result_soon(job) if has_begun else None
    return result or _conclude(job, values, entry)


def _silence(job: Handle) -> str:
    return f"{_scheduler_of(job)[0].name} does not answer."


def _remedy_of_silence(job: Handle, state: Mapping[str, Any]) -> str:
    if _silence(job) not in state["notes"]:
        return ""
    return f' {_silence(job)} If its cluster is gone, so is the job: remove "{job["directory"]}".'


def stop(job: Handle, wait_s: float) -> dict[str, Any]:
    """Let the chief save a checkpoint and the job end. With ``wait_s=0``, only send the request."""
    result = result_of(job)
    if result is not None:
        return result
    its, key = _scheduler_of(job)
    entry = its.entry(key)
    if entry is None or entry.phase != "runs" or not its.signal(key, "TERM"):
        its.cancel(key)
    if not _has_ended(job, wait_s) and wait_s > 0:
        its.cancel(key)
        if not _has_ended(job, _END_S):
            _killed.add(str(job["id"]))
            its.signal(key, "KILL")
            _has_ended(job, _END_S)
    state = conclude_job(job)
    if state["state"] == "failed" and result_of(job) is None:
        # The signal came before the supervisor was there.
        state = {**state, "state": "stopped", "failure": None}
    return state


def _has_ended(job: Handle, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _answers.pop(str(job["id"]), None)
        if conclude_job(job)["ended"] is not None:
            return True
        time.sleep(_TICK_S)
    return False


def _age_s(path: str) -> float:
    try:
        return abs(time.time() - os.stat(path).st_mtime)
    except OSError:
        return math.inf


def _entry(job: Handle) -> QueueEntry | None:
    asked_at, entry = _answers.get(str(job["id"]), (-_FRESH_S, None))
    if time.monotonic() - asked_at >= _FRESH_S:
        its, key = _scheduler_of(job)
        entry = its.entry(key)
        _answers[str(job["id"])] = (time.monotonic(), entry)
    return entry


def _result_soon(job: Handle) -> dict[str, Any] | None:
    end = time.monotonic() + _VISIBLE_S
    while (result := result_of(job)) is None and time.monotonic() < end:
        time.sleep(_TICK_S)
        with contextlib.suppress(OSError):
            # A network file system looks again when a directory is listed.
            os.listdir(str(job["logs"]))
    return result


def _conclude(job: Handle, values: dict[str, Any], entry: QueueEntry) -> dict[str, Any]:
    # The supervisor has not written it.
    named, logs = title_of(job), str(job["logs"])
    its, key = _scheduler_of(job)
    output = os.path.join(logs, its.output.format(its.number(key)))
    rows = [{**row, "pid": None} for row in values["tasks"]]
    ended: dict[str, Any] = {"ended": time.time(), "tasks": rows}
    if entry.phase == "cancelled" or str(job["id"]) in _killed:
        ended |= {"state": "stopped", "message": f"{named} was cancelled."}
    else:
        state = entry.words or "forgotten"
        error = TrainingError(
            f"{named} ended ({state}) before its supervisor could write a result.",
            f'See "{output}"; train again to continue from the newest checkpoint.',
        )
        failure = {**failures.error_failure(error), "log_tail": tail(output, 0)}
        ended |= {"state": "failed", "message": error.problem, "failure": failure}
    concluded = {**values, **ended}
    write_result(concluded, [logs])
    private_directory.remove(str(job["directory"]))
    return concluded


def _jobs_in(parent: str) -> Iterator[dict[str, Any]]:
    for directory in list(private_directory.own_directories(parent)):
        submission = job_files.read(directory, SUBMISSION_FILE)
        if submission is not None:
            yield {**submission, "directory": directory}


def collect_garbage(parent: str) -> None:
    """Remove the directories of sessions that ended before they could submit their jobs."""
    for directory in list(private_directory.own_directories(parent)):
        is_submitted = job_files.read(directory, SUBMISSION_FILE) is not None
        # Locks of other hosts may not be seen.
        is_in_use = private_directory.is_locked(directory) or _age_s(directory) <= _MOST_AGE_S
        if not is_submitted and not is_in_use:
            private_directory.remove(directory)
