"""Supervisor of a job whose session may have ended, which writes a result in any case."""

import dataclasses
import os
import sys
import time
from typing import Any

from tfdistribute.cluster.engines.ray import RayCluster
from tfdistribute.errors import TfdistributeError
from tfdistribute.launch import failures
from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.job import FILE, Job, read_job
from tfdistribute.launch.setup import Allocation
from tfdistribute.launch.start import CODES, supervise
from tfdistribute.launch.state import JobState, Progress, write_result


def main(directory: str, address: str) -> None:
    """Run in a process of a detached actor of Ray."""
    processes.die_with_parent(os.getppid())
    private_directory.check_private(directory)
    job = read_job(os.path.join(directory, FILE))
    assert isinstance(job.cluster, RayCluster)
    # The address that the session uses may not be known here.
    cluster = dataclasses.replace(job.cluster, address=address)
    sys.exit(CODES[run(dataclasses.replace(job, cluster=cluster), Allocation())["state"]])


def run(job: Job, allocation: Allocation) -> dict[str, Any]:
    """Run a job and return its last state."""
    try:
        return supervise(job, allocation=allocation)
    except TfdistributeError as error:
        failure = {**failures.error_failure(error), "log_tail": None}
        state = JobState(job, "failed", error.problem, failure=failure)
        allocation.resume(state, Progress())
        return end(job, state.as_values((), Progress(), time.monotonic()))


def end(job: Job, values: dict[str, Any]) -> dict[str, Any]:
    ended = {**values, "ended": time.time()}
    write_result(ended, job.log_directories)
    private_directory.remove(job.directory)
    return ended
