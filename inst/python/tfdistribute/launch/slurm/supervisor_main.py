"""Supervisor as the script of a Slurm job, on the first of its nodes."""

import dataclasses
import os
import shutil
import signal
import time
from collections.abc import Sequence
from typing import Any

from tfdistribute import storage
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.cluster.slurm_environment import expand_nodes
from tfdistribute.launch import job_files
from tfdistribute.launch.detached import supervisor
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.processes import SIGNALS, StopRequests
from tfdistribute.launch.job import FILE, Job, read_job
from tfdistribute.launch.job_files import PROGRESS_FILE, QUEUED, STATE_FILE
from tfdistribute.launch.setup import SAVE_S, Allocation
from tfdistribute.launch.slurm import scheduler
from tfdistribute.launch.start import CODES
from tfdistribute.launch.state import JobState, Progress
from tfdistribute.launch.task_view import TaskView

# How long Slurm may take to end a job that it queues again, and the interval between two writes of the progress.
_REQUEUE_S = 60.0
_KEEP_INTERVAL_S = 5.0


class SlurmAllocation(Allocation):
    signals = (*SIGNALS, "SIGUSR1")

    def __init__(self, job: Job, cluster: SlurmCluster, slurm_id: str, starts_before: int) -> None:
        self.starts_before = starts_before
        self.slurm_id = slurm_id
        self._cluster = cluster
        self._home = job.directory
        self._first_step: int | None = None
        self._kept_at = -_KEEP_INTERVAL_S

    def resume(self, state: JobState, progress: Progress) -> None:
        state.slurm_id = self.slurm_id
        former = job_files.read(self._home, STATE_FILE)
        values = job_files.read(self._home, PROGRESS_FILE)
        if self.starts_before > 0 and former is not None:
            state.restarts = former["restarts"] or 0
            state.started = former["started"] or state.started
            for note in former["notes"]:
                state.note(note)
        if self.starts_before > 0 and values is not None:
            progress.restore(values)
            state.message = f"Slurm has started job {self.slurm_id} again."
        self._first_step = progress.checkpoint

    def keep(self, progress: Progress, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._kept_at > _KEEP_INTERVAL_S:
            self._kept_at = now
            try:
                storage.write_object(os.path.join(self._home, PROGRESS_FILE), progress.as_values())
            except OSError:
                # A full disk must not end the job; the history then begins later.
                self._kept_at = -_KEEP_INTERVAL_S

    def save_s(self, stops: StopRequests) -> float:
        # Half of the time that Slurm leaves before the time limit, and less after scancel.
        has_time = stops.first == signal.SIGUSR1
        return max(SAVE_S, self._cluster.stop_signal_s / 2) if has_time else SAVE_S

    def reason_to_restart(self, stops: StopRequests) -> str | None:
        if not self._cluster.requeue:
            return None
        if scheduler.is_requeued(self.slurm_id, self.starts_before):
            return "Slurm took back the nodes and queues the job again."
        if stops.first == signal.SIGUSR1:
            return "The time limit is near, so the job queues again."
        return None

    def why_stopped(self, stops: StopRequests) -> str:
        if stops.first == signal.SIGUSR1:
            return "The time limit is near, and `requeue` is FALSE."
        return super().why_stopped(stops)

    def reason_to_move(self, lost: TaskView, progress: Progress) -> str | None:
        has_trained = progress.checkpoint is not None and progress.checkpoint != self._first_step
        if lost.loss is None or not self._cluster.requeue or not has_trained:
            return None
        return f"The node {lost.host} was lost ({lost.loss}), so the job queues again."


def main(arguments: Sequence[str]) -> int:
    """Run as the supervisor, given the job's private directory; return one of ``CODES``."""
    directory = arguments[0]
    private_directory.check_private(directory)
    job = read_job(os.path.join(directory, FILE))
    assert isinstance(job.cluster, SlurmCluster)
    hosts = tuple(expand_nodes(os.environ["SLURM_JOB_NODELIST"]))
    cluster = dataclasses.replace(job.cluster, hosts=hosts)
    job = dataclasses.replace(job, cluster=cluster)
    # Messages of the tasks to a former start are part of the progress.
    shutil.rmtree(os.path.join(directory, "events"), ignore_errors=True)
    starts_before = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
    allocation = SlurmAllocation(job, cluster, os.environ["SLURM_JOB_ID"], starts_before)
    values = supervisor.run(job, allocation)
    if values["state"] == QUEUED:
        values = _queue_again(job, allocation, values)
    return CODES[values["state"]]


def _queue_again(job: Job, allocation: SlurmAllocation, values: dict[str, Any]) -> dict[str, Any]:
    # In the grace time of a preemption, the nodes are not needed any more.
    if not scheduler.is_requeued(allocation.slurm_id, allocation.starts_before, or_will_be=False):
        refused = scheduler.requeue(allocation.slurm_id)
        if refused is not None:
            message = f"Slurm does not queue the job again: {refused}"
            return supervisor.end(job, {**values, "state": "stopped", "message": message})
        # The end of this process would be the end of the job, so Slurm must end it.
        time.sleep(_REQUEUE_S)
    return {**values, "state": "stopped"}
