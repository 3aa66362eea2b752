"""Reasons for a healthy training to continue on other hosts."""

import math
import time

from tfdistribute.launch.goodput import Goodput
from tfdistribute.launch.job import Job
from tfdistribute.launch.state import Progress
from tfdistribute.launch.task_group import TaskGroup


class Resizing:
    def __init__(self, job: Job, tasks: TaskGroup, progress: Progress) -> None:
        # Parameter servers keep variables, and their workers do not wait for each other.
        self._can_move = job.trains and not job.cluster.has_servers
        self._every_s: float = getattr(job.cluster, "resize_every_s", math.inf)
        self._tasks, self._progress = tasks, progress
        self._started_at = time.monotonic()

    def note_start(self) -> None:
        self._started_at = time.monotonic()

    def reason(self) -> str | None:
        """Return why the training should restart now, as a sentence; None if it should not."""
        if not self._can_move:
            return None
        if leaving := self._tasks.leaving:
            return f"The end of {_names(leaving)} was announced."
        back = self._tasks.returned
        if not back or time.monotonic() - self._started_at < self._every_s:
            return None
        progress, workers = self._progress, len(self._tasks.hosts)
        left = None
        if progress.last_step is not None:
            left = progress.last_step - (progress.global_step or 0)
        is_worth_it = saves_time(progress.goodput(), left, workers, workers + len(back))
        return f"{_names(back)} can be used again." if is_worth_it else None


def saves_time(goodput: Goodput, steps: int | None, workers: int, more: int) -> bool:
    """Return whether ``more`` workers take the remaining steps, a restart included, in less time than ``workers``.

    A restart takes as long as the last start, and the time of a step is inversely proportional to the workers.
    Without a known number of remaining steps, there are enough.
    """
    if goodput.start_s is None or goodput.step_s is None:
        return False
    return steps is None or steps * goodput.step_s * (1 - workers / more) > goodput.start_s


def _names(hosts: list[str]) -> str:
    return " and ".join(dict.fromkeys(hosts))
