"""State and progress of a running job, and the files and pages that show them."""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from tfdistribute import storage
from tfdistribute.launch.job_files import STATE_FILE
from tfdistribute.launch.reports.goodput import WAITING
from tfdistribute.launch.setup import Allocation, JobSetup
from tfdistribute.launch.state import JobState, Progress
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.metrics_page import JobPages

# Called with every state that is written.
OnState = Callable[[dict[str, Any]], None]

# Intervals between two writes, with news and without.
_NEWS_INTERVAL_S = 0.1
_IDLE_INTERVAL_S = 1.0


class JobReport:
    def __init__(
        self,
        setup: JobSetup,
        tasks: Sequence[TaskProcess],
        allocation: Allocation,
        on_state: OnState | None,
    ) -> None:
        job, self._tasks = setup.job, tasks
        network = "private" if setup.is_private else "open"
        self.state = JobState(job, logs=setup.logs, network=network, notes=setup.notes)
        self.progress = Progress()
        self._path = os.path.join(job.directory, STATE_FILE)
        self._pages = JobPages(job.directory)
        self._on_state = on_state
        self._written_at, self.has_news = 0.0, True
        allocation.resume(self.state, self.progress)
        # A job that was queued again has waited since then.
        if self.progress.sums.cause != WAITING:
            self.progress.sums.mark("begin", time.time(), why=self.state.message)

    def values(self) -> dict[str, Any]:
        return self.state.as_values(self._tasks, self.progress, time.monotonic())

    def write(self, values: dict[str, Any] | None = None) -> None:
        """Write the given values, or the current ones if that is due; keep the old file if that fails."""
        now = time.monotonic()
        interval_s = _NEWS_INTERVAL_S if self.has_news else _IDLE_INTERVAL_S
        if values is None and now - self._written_at < interval_s:
            return
        values = values or self.values()
        self._written_at, self.has_news = now, False
        with contextlib.suppress(OSError):
            storage.write_object(self._path, values)
        self._pages.write(values, self.progress.losses.rows)
        if self._on_state is not None:
            self._on_state(values)
