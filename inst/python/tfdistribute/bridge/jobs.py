"""Jobs for R: preparation, start, and what runs before it. TensorFlow is not started."""

from __future__ import annotations

from typing import Any

from tfdistribute.descriptions import read
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job import Job
from tfdistribute.launch.start import start_supervisor


def start_job(directory: str, **fields: Any) -> dict[str, Any]:
    """Start a job; ``fields`` are those of ``launch.job.Job`` besides id and directory.

    Returns:
        The handle of the job; see ``job_handle.handle_of``.
    """
    job_id = private_directory.job_id(directory)
    return start_supervisor(read(Job, {"id": job_id, "directory": directory, **fields}))
