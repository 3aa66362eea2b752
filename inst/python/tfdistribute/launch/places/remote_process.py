"""Processes that an agent has started."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.places.place import StartedProcess

# Called with "log" or "events", and what the process has written there.
OnWritten = Callable[[str, bytes], None]


class Host(Protocol):
    """What a process needs of its place."""

    def wait(self, is_over: Callable[[], bool], seconds: float) -> bool: ...

    def send(self, operation: str, number: int, **fields: Any) -> None: ...


class RemoteProcess(StartedProcess):
    """A process of an agent.

    Args:
        number: Its number in the messages of its agent.
    """

    def __init__(self, place: Host, number: int, on_written: OnWritten) -> None:
        # Until the agent tells the number of the process, and for one that never started.
        self.pid = 0
        self.on_written = on_written
        self._place = place
        self._number = number
        self._code: int | None = None
        self._loss: str | None = None
        self._activity = Activity()

    @property
    def loss(self) -> str | None:
        return self._loss

    def exit_code(self) -> int | None:
        """Return the exit code; that of SIGKILL if the host is out of reach."""
        return self._code

    def end(self, code: int) -> None:
        self._code = code

    def lose(self, why: str) -> None:
        """Give up the process: its agent ends it."""
        self._loss, self._code = why, -signal.SIGKILL

    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        if self._code is None:
            self._place.send("signal", self._number, signal=[number, whole_group, if_caught])

    def activity(self) -> Activity:
        return self._activity

    def take_activity(self, values: Sequence[Any]) -> None:
        self._activity = Activity(*values)

    def wait(self, seconds: float) -> None:
        self._place.wait(lambda: self._code is not None, seconds)
