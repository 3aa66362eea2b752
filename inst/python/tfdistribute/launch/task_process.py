"""The process of one task."""

import time
from typing import Any

from tfdistribute.cluster.spec import Task
from tfdistribute.launch.host.logs import append
from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.places.place import Place, StartedProcess, StartOptions
from tfdistribute.launch.task_view import TaskView
from tfdistribute.task_events import EventFile

# Interval between two looks at a starting task, and the time for which they are kept.
_LOOK_S = 0.25
RECENT_S = 10.0


class TaskProcess:
    """One task, over all its starts, each with its own file of events."""

    def __init__(self, task: Task, place: Place, log: str, events: str) -> None:
        self.task = task
        self.place = place
        self.name = str(task)
        self.log = log
        self.log_start = 0
        self.starts = 0
        self.port: int | None = None
        self.view = TaskView(task, place.host)
        self._events = events
        self.events = EventFile(events)
        self._pending_events: list[dict[str, Any]] = []
        self._when_heard = Activity()
        self._recent: list[tuple[float, Activity]] = []
        self._process: StartedProcess | None = None

    @property
    def events_path(self) -> str:
        return f"{self._events}-{self.starts}.jsonl"

    def start(self, options: StartOptions) -> None:
        """Start the process; raise OSError if the program cannot be run."""
        now = time.monotonic()
        self.view = TaskView(self.task, self.place.host, started_at=now, heard_at=now)
        self.events = EventFile(self.events_path)
        self.starts += 1
        self._when_heard = Activity()
        self._recent = [(now, Activity())]
        self._begin_log()
        self._process = self.place.start(options)
        self.view.pid = self._process.pid

    def _begin_log(self) -> None:
        moment = time.strftime("%Y-%m-%d %H:%M:%S")
        again = f" (start {self.starts})" if self.starts > 1 else ""
        append(self.log, f"--- {self.name} starts at {moment}{again} ---\n".encode())

    def poll(self, now: float) -> None:
        """Read new events and the exit code; ``now`` is monotonic time."""
        ended = None if self._process is None else self._process.exit_code()
        # Read after the exit code, so that the file has the last events.
        events = self.events.read_new()
        for event in events:
            event["time"] -= self.place.clock_ahead_s
            self.view.take(event, now)
        if events:
            self._when_heard = self._activity()
        self._pending_events += events
        if self.view.stepped_at is None and self._recent and now - self._recent[-1][0] > _LOOK_S:
            recent = [each for each in self._recent if now - each[0] <= RECENT_S]
            self._recent = [*recent, (now, self._activity())]
        if ended is not None and self.view.exit is None:
            self.view.loss = None if self._process is None else self._process.loss
            self.view.end(ended, time.time())

    def was_busy(self, seconds: float) -> bool:
        """Return whether a task without events for some time made progress; if so, that time starts again."""
        activity = self._activity()
        was_busy = activity.is_progress_since(self._when_heard, seconds)
        if was_busy:
            self._when_heard, self.view.heard_at = activity, time.monotonic()
        return was_busy

    def is_busy(self, seconds: float) -> bool:
        """Return whether a task before its first step made progress of any kind in the last seconds."""
        if not self._recent:
            return False
        until, activity = self._recent[-1]
        if self.view.is_up and until - self.view.heard_at < seconds:
            return True
        since, before = next(each for each in self._recent if until - each[0] <= seconds)
        return activity.is_progress_since(before, until - since)

    def is_suspended(self) -> bool:
        return self.view.is_running and self._activity().is_suspended

    def _activity(self) -> Activity:
        return Activity() if self._process is None else self._process.activity()

    def take_events(self) -> list[dict[str, Any]]:
        """Return the events since the last call, also from earlier starts."""
        taken, self._pending_events = self._pending_events, []
        return taken

    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        if self._process is not None:
            self._process.signal(number, whole_group, if_caught)

    def request_end(self, number: int, whole_group: bool = True) -> None:
        """Send a signal that ends the process, and record that its end is expected."""
        self.poll(time.monotonic())
        if self.view.is_running:
            self.view.is_ended_by_us = True
            self.signal(number, whole_group)

    def wait(self, seconds: float) -> None:
        if self._process is not None:
            self._process.wait(max(seconds, 0))
        self.poll(time.monotonic())
