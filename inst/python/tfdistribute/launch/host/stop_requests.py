"""Signals that request the end of a job."""

from __future__ import annotations

import signal
from types import TracebackType
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopRequests:
    """Counter of stop signals within a ``with`` block.

    The first signal requests a checkpoint and the end; the second ends without waiting.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequests:
        for number in (getattr(signal, name) for name in SIGNALS):
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

    def _increment(self, *_: object) -> None:
        self.count += 1
