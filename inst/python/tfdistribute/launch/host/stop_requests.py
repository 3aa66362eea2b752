"""Signals that request the end of a job."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from types import TracebackType
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopRequests:
    """Counter of stop signals within a ``with`` block.

    The first signal requests a checkpoint and the end; the second ends without waiting.
    """

    def __init__(self, names: Sequence[str] = SIGNALS) -> None:
        self.count = 0
        self.first: int | None = None
        self._names = names
        self._is_told = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequests:
        for number in (getattr(signal, name) for name in self._names):
            self._before[number] = signal.signal(number, self._increment)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def request(self, number: int) -> None:
        """Count a signal that this process should have got, and the one that follows as the same."""
        if self.count == 0:
            self._increment(number, None)
            self._is_told = True

    def _increment(self, number: int, _: object) -> None:
        if self._is_told:
            self._is_told = False
            return
        self.first = number if self.first is None else self.first
        self.count += 1
