"""Trackers of jobs, each in a process of the session or, inside a cluster, of the supervisor."""

import time
from collections.abc import Mapping
from typing import Any

from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job import Job
from tfdistribute.launch.state import result_of
from tfdistribute.trackers import process
from tfdistribute.trackers.process import End, TrackerProcess

_TICK_S = 0.1

# Of jobs that this session started, by private directory.
_processes: dict[str, TrackerProcess] = {}


def start(job: Job) -> None:
    """Start the tracker of a job outside its private network, before its supervisor; raises as ``TrackerProcess``."""
    if job.tracking is not None:
        handle = {"id": job.id, "directory": job.directory, "model_dir": job.model_dir}
        values = {**job.tracking, "job": {**handle, "logs": job.log_directories[0]}}
        _processes[job.directory] = TrackerProcess(values, __name__)


def finish(directory: str) -> str | None:
    """Wait for the tracker of a job that has ended; return why it has not logged everything, or None."""
    tracker = _processes.pop(directory, None)
    return None if tracker is None else tracker.finish(None)


def main() -> None:
    process.serve(_end_of)


def _end_of(values: Mapping[str, Any]) -> End:
    job = values["job"]

    def end(timeout_s: float) -> str | None:
        deadline = time.monotonic() + timeout_s
        while private_directory.is_locked(job["directory"]):
            if time.monotonic() > deadline:
                return None
            time.sleep(_TICK_S)
        return str((result_of(job) or {}).get("state", "failed"))

    return end
