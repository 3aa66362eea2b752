"""One task's process: started, looked at, signalled and ended. Plain Python."""

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
from tfdistribute.launch.task_view import TaskView
from tfdistribute.task_events import EventFile

# The part of one core's time that a process uses which does not merely wait.
_BUSY = 0.03
# How long what it computed is looked back on.
_RECENT_S = 2.0


@dataclass(frozen=True)
class Start:
    """What a task is started with.

    Args:
        command: Argument list.
        environment: All of its variables.
        directory: Where it runs.
        cores: Cores that it may use; empty for any.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    directory: str
    cores: Sequence[int] = ()


class TaskProcess:
    """One task, over all its starts.

    Args:
        task: The task.
        log: File that its output is appended to.
        events: Path of its events, to which the number of the start is appended: each start has a file of its own.
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
        self._untaken: list[dict[str, Any]] = []
        self._cpu_s_when_heard = 0.0
        self._recent = [(0.0, 0.0)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def events_path(self) -> str:
        """The file of the events of the next start."""
        return f"{self._events}-{self.starts}.jsonl"

    def start(self, start: Start) -> None:
        """Start the process, in a session of its own.

        Args:
            start: What with.

        Raises:
            OSError: the program cannot be run.
        """
        parent, cores = os.getpid(), set(start.cores)

        def prepare() -> None:
            processes.die_with_parent(parent)
            if cores and sys.platform == "linux":
                os.sched_setaffinity(0, cores)

        now = time.monotonic()
        self.view = TaskView(self.task, started_at=now, heard_at=now)
        self.events = EventFile(self.events_path)
        self.starts += 1
        self._cpu_s_when_heard = 0.0
        self._recent = [(now, 0.0)]
        output = self._open_log()
        try:
            self._process = subprocess.Popen(
                start.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=start.environment,
                cwd=start.directory,
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
            # A disk that filled up meanwhile must not be the reason why nothing is healed.
            return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        moment = time.strftime("%Y-%m-%d %H:%M:%S")
        again = f" (start {self.starts})" if self.starts > 1 else ""
        with contextlib.suppress(OSError):
            os.write(output, f"--- {self.name} starts at {moment}{again} ---\n".encode())
        return output

    def look(self, now: float) -> None:
        """Learn what the task told, and whether it has ended.

        Args:
            now: Monotonic time.
        """
        ended = self._exit_code()
        # Read after the end was seen: what it told last is there then.
        events = self.events.read_new()
        for event in events:
            self.view.take(event, now)
        if events:
            self._cpu_s_when_heard = self._cpu_s()
        self._untaken += events
        if self.view.stepped_at is None and now - self._recent[-1][0] > _RECENT_S:
            self._recent = [self._recent[-1], (now, self._cpu_s())]
        if ended is not None and self.view.exit is None:
            self.view.end(ended, time.time())

    def has_worked(self, seconds: float) -> bool:
        """Say whether a task that told nothing for some time has computed meanwhile; then that time begins anew."""
        used = self._cpu_s()
        has_worked = used - self._cpu_s_when_heard > _BUSY * seconds
        if has_worked:
            self._cpu_s_when_heard, self.view.heard_at = used, time.monotonic()
        return has_worked

    def is_at_work(self) -> bool:
        """Say whether a task that has made no step yet has been computing in the last seconds."""
        (since, used_before), (until, used) = self._recent[0], self._recent[-1]
        return used - used_before > _BUSY * (until - since)

    def _cpu_s(self) -> float:
        return processes.cpu_seconds(self.view.pid) if self.view.pid is not None else 0.0

    def taken_events(self) -> list[dict[str, Any]]:
        """Hand over the events that were not handed over yet, also those of earlier starts."""
        taken, self._untaken = self._untaken, []
        return taken

    def _exit_code(self) -> int | None:
        process = self._process
        if process is None or process.returncode is not None:
            return None if process is None else process.returncode
        if hasattr(os, "waitid"):
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, process.pid, flags) is None:
                return None
        # While its leader is not collected, the group's number belongs to nobody else.
        if process.returncode is None and hasattr(os, "waitid"):
            self.signal(signal.SIGKILL)
        return process.poll()

    def signal(self, number: int, whole_group: bool = True) -> None:
        """Send a signal, to the process alone or to all that it started; nothing where it has ended."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                (os.killpg if whole_group else os.kill)(process.pid, number)

    def is_to_end(self, number: int, whole_group: bool = True) -> None:
        """Send a signal that is to end the process, and remember that its end is wanted."""
        self.look(time.monotonic())
        if self.view.is_running:
            self.view.is_ended_by_us = True
            self.signal(number, whole_group)

    def collect(self) -> None:
        """Wait for the end of the process, which was killed."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(processes.END_S)
        self.look(time.monotonic())
