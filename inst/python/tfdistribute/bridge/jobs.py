"""What R asks of jobs: started, watched, read and stopped. TensorFlow is not started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job import described_job
from tfdistribute.launch.start import collect_ended, start_supervisor


def start_job(directory: str, **fields: Any) -> dict[str, Any]:
    """Start a job and answer with its handle; its id is the name of its private directory.

    ``fields`` are those of ``launch.job.Job``: cluster, verb, command, working_directory, strategy, model_dir,
    environment, digest, max_steps, parent_pid.
    """
    name = os.path.basename(directory).removeprefix(private_directory.PREFIX)
    job = described_job({"id": name, "directory": directory, **fields})
    collect_ended()
    return start_supervisor(job)


def job_state(job: Mapping[str, Any]) -> dict[str, Any]:
    """Read the state of a job, or its result."""
    collect_ended()
    return job_handle.job_state(job)


def job_news(
    job: Mapping[str, Any], position: str | None = None, level: str = "warning"
) -> dict[str, Any]:
    """Read state and new lines of logs: "state", "lines", "position" for the next call, "ended"."""
    collect_ended()
    return job_handle.job_news(job, position, level)


def job_history(job: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the history of a job that has ended; None before."""
    return job_state(job)["history"]


def job_logs(job: Mapping[str, Any], task: str | None = None, level: str = "debug") -> list[str]:
    """Read the lines of one task, or of all with the task before each."""
    return job_handle.job_logs(job, task, level)


def stop_job(job: Mapping[str, Any], wait_s: float = job_handle.STOP_S) -> dict[str, Any]:
    """Stop a job, wait for its end, and answer with its last state."""
    state = job_handle.stop_job(job, wait_s)
    collect_ended()
    return state


def running_jobs() -> list[dict[str, Any]]:
    """List the handles of this user's running jobs."""
    return list(job_handle.running_jobs())
