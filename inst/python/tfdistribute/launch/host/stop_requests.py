"""Requests to stop a job, which come as signals. Plain Python."""

from __future__ import annotations

import signal
from types import TracebackType
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopRequests:
    """Counts the signals that ask for the end, inside of a ``with`` block.

    The first asks for a checkpoint and the end; with the second nothing is waited for.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequests:
        for number in (getattr(signal, name) for name in SIGNALS):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, *_: object) -> None:
        self.count += 1
