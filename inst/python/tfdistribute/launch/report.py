"""Report of a running job: its state and progress, and the files and pages that show them."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from tfdistribute.launch.job_files import STATE_FILE
from tfdistribute.launch.setup import Allocation, JobSetup
from tfdistribute.launch.state import JobState, Progress, StateFile
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.metrics_page import JobPages

# Called with every state that is written.
OnState = Callable[[dict[str, Any]], None]


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
        self._file = StateFile(os.path.join(job.directory, STATE_FILE))
        self._pages = JobPages(job.directory)
        self._on_state = on_state
        allocation.resume(self.state, self.progress)
        marks = self.progress.marks
        # A job that was queued again has waited since then.
        if not marks or marks[-1].kind != "begin":
            self.progress.mark("begin", time.time(), why=self.state.message)

    def mark_news(self) -> None:
        self._file.mark_news()

    def values(self) -> dict[str, Any]:
        return self.state.as_values(self._tasks, self.progress, time.monotonic())

    def write(self, values: dict[str, Any] | None = None) -> None:
        """Write the given values, or the current ones if that is due."""
        now = time.monotonic()
        if values is not None or self._file.is_due(now):
            values = values or self.values()
            self._file.write(values, now)
            self._pages.write(values, self.progress.losses.rows)
            if self._on_state is not None:
                self._on_state(values)
