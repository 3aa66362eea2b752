"""Supervisor of a job inside its cluster, where its scheduler may end it and start it again.

It writes a result in any case, because the session may have ended.
"""

import dataclasses
import os
import shutil
import signal
import sys
import time
from typing import Any

from tfdistribute import storage
from tfdistribute.errors import TfdistributeError
from tfdistribute.launch import failures, job_files
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.processes import SIGNALS, StopRequests
from tfdistribute.launch.job import FILE, Job, read_job
from tfdistribute.launch.job_files import PROGRESS_FILE, QUEUED, STATE_FILE
from tfdistribute.launch.schedulers.registry import SCHEDULERS
from tfdistribute.launch.schedulers.scheduler import Start
from tfdistribute.launch.setup import Allocation
from tfdistribute.launch.start import CODES, supervise
from tfdistribute.launch.state import JobState, Progress, write_result
from tfdistribute.launch.task_view import TaskView

# How long a scheduler may take to end a job that it queues again, and the interval between two writes of the progress.
_REQUEUE_S = 60.0
_KEEP_INTERVAL_S = 5.0


class ScheduledAllocation(Allocation):
    """Hosts that a scheduler gives to a job, takes back, and gives again."""

    def __init__(self, job: Job, scheduler: str, start: Start) -> None:
        self.scheduler = SCHEDULERS[scheduler]
        self.starts_before = start.starts_before
        self.key = start.key
        self._name, self._start = scheduler, start
        self._may_restart = self.scheduler.may_restart(start.cluster)
        self._home = job.directory
        self._first_step: int | None = None
        self._kept_at = -_KEEP_INTERVAL_S
        signals = (*SIGNALS, self.scheduler.time_signal)
        self.signals = tuple(each for each in signals if each is not None)

    def resume(self, state: JobState, progress: Progress) -> None:
        state.scheduler, state.key = self._name, self.key
        former = job_files.read(self._home, STATE_FILE)
        values = job_files.read(self._home, PROGRESS_FILE)
        if self.starts_before > 0 and former is not None:
            state.restarts = former["restarts"] or 0
            state.started = former["started"] or state.started
            for note in former["notes"]:
                state.note(note)
        if self.starts_before > 0 and values is not None:
            progress.restore(values)
            state.message = f"{self.scheduler.name} has started job {self.key} again."
        self._first_step = progress.checkpoint

    def keep(self, progress: Progress, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._may_restart and (at_once or now - self._kept_at > _KEEP_INTERVAL_S):
            self._kept_at = now
            try:
                storage.write_object(os.path.join(self._home, PROGRESS_FILE), progress.as_values())
            except OSError:
                # A full disk must not end the job; the history then begins later.
                self._kept_at = -_KEEP_INTERVAL_S

    def save_s(self, stops: StopRequests) -> float:
        own = self.scheduler.save_s(self._start.cluster) if self._time_is_up(stops) else None
        return max(super().save_s(stops), own or 0.0)

    def reason_to_restart(self, stops: StopRequests) -> str | None:
        if not self._may_restart:
            return None
        if self.scheduler.is_restarted(self.key, self.starts_before):
            return f"{self.scheduler.name} took back the nodes and queues the job again."
        if self._time_is_up(stops):
            return "The time limit is near, so the job queues again."
        return None

    def why_stopped(self, stops: StopRequests) -> str:
        if self._time_is_up(stops):
            return "The time limit is near, and `requeue` is FALSE."
        return super().why_stopped(stops)

    def reason_to_move(self, lost: TaskView, progress: Progress) -> str | None:
        has_trained = progress.checkpoint is not None and progress.checkpoint != self._first_step
        if lost.loss is None or not self._may_restart or not has_trained:
            return None
        return f"The node {lost.host} was lost ({lost.loss}), so the job queues again."

    def _time_is_up(self, stops: StopRequests) -> bool:
        name = self.scheduler.time_signal
        return name is not None and stops.first == getattr(signal, name)


def main(directory: str, where: str, scheduler: str) -> None:
    """Run as the supervisor of the job in a private directory, and end this process with one of ``CODES``."""
    private_directory.check_private(directory)
    job = read_job(os.path.join(directory, FILE))
    start = SCHEDULERS[scheduler].begin(job, where)
    job = dataclasses.replace(job, cluster=start.cluster)
    # Messages of the tasks to a former start are part of the progress.
    shutil.rmtree(os.path.join(directory, "events"), ignore_errors=True)
    allocation = ScheduledAllocation(job, scheduler, start)
    values = _run(job, allocation)
    if values["state"] == QUEUED:
        values = _queue_again(job, allocation, values)
    sys.exit(CODES[values["state"]])


def _run(job: Job, allocation: Allocation) -> dict[str, Any]:
    try:
        return supervise(job, allocation=allocation)
    except TfdistributeError as error:
        failure = {**failures.error_failure(error), "log_tail": None}
        state = JobState(job, "failed", error.problem, failure=failure)
        allocation.resume(state, Progress())
        return _end(job, state.as_values((), Progress(), time.monotonic()))


def _end(job: Job, values: dict[str, Any]) -> dict[str, Any]:
    ended = {**values, "ended": time.time()}
    write_result(ended, job.log_directories)
    private_directory.remove(job.directory)
    return ended


def _queue_again(
    job: Job, allocation: ScheduledAllocation, values: dict[str, Any]
) -> dict[str, Any]:
    its, key = allocation.scheduler, allocation.key
    # In the grace time of a preemption, the nodes are not needed any more.
    if not its.is_restarted(key, allocation.starts_before, or_will_be=False):
        refused = its.restart(key)
        if refused is not None:
            message = f"{its.name} does not queue the job again: {refused}"
            return _end(job, {**values, "state": "stopped", "message": message})
        # The end of this process would be the end of the job, so the scheduler must end it.
        time.sleep(_REQUEUE_S)
    return {**values, "state": "stopped"}
