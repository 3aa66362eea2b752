"""The process of one task."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute.cluster.spec import Task
from tfdistribute.launch.host import processes
from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.task_view import TaskView
from tfdistribute.task_events import EventFile

# Interval between two looks at a starting task, and the time for which they are kept.
_LOOK_S = 0.25
RECENT_S = 10.0


@dataclass(frozen=True)
class StartOptions:
    """Parameters of a start."""

    command: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    cores: Sequence[int] = ()


class TaskProcess:
    """One task, over all its starts.

    Args:
        task: The task.
        log: File to which its output is appended.
        events: Path of its events; each start appends its number and has a file of its own.
    """

    def __init__(self, task: Task, log: str, events: str) -> None:
        self.task = task
        self.name = str(task)
        self.log = log
        self.log_start = 0
        self.starts = 0
        self.port: int | None = None
        self.view = TaskView(task)
        self._events = events
        self.events = EventFile(events)
        self._pending_events: list[dict[str, Any]] = []
        self._when_heard = Activity()
        self._recent: list[tuple[float, Activity]] = []
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def events_path(self) -> str:
        """The event file of the next start."""
        return f"{self._events}-{self.starts}.jsonl"

    def start(self, options: StartOptions) -> None:
        """Start the process in a session of its own; raise OSError if the program cannot be run."""
        parent, cores = os.getpid(), set(options.cores)

        def prepare() -> None:
            processes.die_with_parent(parent)
            if cores and sys.platform == "linux":
                os.sched_setaffinity(0, cores)

        now = time.monotonic()
        self.view = TaskView(self.task, started_at=now, heard_at=now)
        self.events = EventFile(self.events_path)
        self.starts += 1
        self._when_heard = Activity()
        self._recent = [(now, Activity())]
        output = self._open_log()
        try:
            self._process = subprocess.Popen(
                options.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=options.environment,
                cwd=options.directory,
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
            )
        finally:
            os.close(output)
        self.view.pid = self._process.pid

    def _open_log(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            output = os.open(self.log, flags, 0o644)
        except OSError:
            # A full disk must not prevent a restart.
            return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        moment = time.strftime("%Y-%m-%d %H:%M:%S")
        again = f" (start {self.starts})" if self.starts > 1 else ""
        with contextlib.suppress(OSError):
            os.write(output, f"--- {self.name} starts at {moment}{again} ---\n".encode())
        return output

    def poll(self, now: float) -> None:
        """Read new events and the exit code; ``now`` is monotonic time."""
        ended = self._exit_code()
        # Read after the exit code: the last events are in the file then.
        events = self.events.read_new()
        for event in events:
            self.view.take(event, now)
        if events:
            self._when_heard = self._activity()
        self._pending_events += events
        if self.view.stepped_at is None and self._recent and now - self._recent[-1][0] > _LOOK_S:
            kept = [each for each in self._recent if now - each[0] <= RECENT_S]
            self._recent = [*kept, (now, self._activity())]
        if ended is not None and self.view.exit is None:
            self.view.end(ended, time.time())

    def was_busy(self, seconds: float) -> bool:
        """Return whether a task without events for some time made progress; if so, that time starts again."""
        found = self._activity()
        was_busy = found.is_progress_since(self._when_heard, seconds)
        if was_busy:
            self._when_heard, self.view.heard_at = found, time.monotonic()
        return was_busy

    def is_busy(self, seconds: float) -> bool:
        """Return whether a task before its first step made progress of any kind in the last seconds."""
        if not self._recent:
            return False
        until, found = self._recent[-1]
        if self.view.is_up and until - self.view.heard_at < seconds:
            return True
        since, before = next(each for each in self._recent if until - each[0] <= seconds)
        return found.is_progress_since(before, until - since)

    def _activity(self) -> Activity:
        return processes.activity(self.view.pid) if self.view.pid is not None else Activity()

    def take_events(self) -> list[dict[str, Any]]:
        """Return the events since the last call, including those of earlier starts."""
        taken, self._pending_events = self._pending_events, []
        return taken

    def _exit_code(self) -> int | None:
        process = self._process
        if process is None or process.returncode is not None:
            return None if process is None else process.returncode
        if hasattr(os, "waitid"):
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, process.pid, flags) is None:
                return None
        # Until its leader is reaped, the process group's id cannot be reused.
        if process.returncode is None and hasattr(os, "waitid"):
            self.signal(signal.SIGKILL)
        return process.poll()

    def signal(self, number: int, whole_group: bool = True) -> None:
        """Send a signal to the process, or to its whole process group; do nothing if it has ended."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                (os.killpg if whole_group else os.kill)(process.pid, number)

    def request_end(self, number: int, whole_group: bool = True) -> None:
        """Send a signal that ends the process, and record that its end is expected."""
        self.poll(time.monotonic())
        if self.view.is_running:
            self.view.is_ended_by_us = True
            self.signal(number, whole_group)

    def wait(self) -> None:
        """Wait for the end of a killed process."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(processes.END_S)
        self.poll(time.monotonic())
