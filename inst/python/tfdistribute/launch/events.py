"""What a task told, read from the file that it appends to. Plain Python."""

from __future__ import annotations

import json
import os
from typing import Any, cast

_AT_ONCE = 1 << 22


class EventFile:
    """The events of one task, in the order in which it told them.

    A line that is no event is passed over: what a task's own code writes there is not this package's.

    Args:
        path: The file; it need not be there yet.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._position = 0
        self._rest = b""

    def new(self) -> list[dict[str, Any]]:
        """Read what was told since the last time.

        Returns:
            Events as mappings with "event" and "time".
        """
        try:
            if os.stat(self.path).st_size <= self._position:
                return []
            with open(self.path, "rb") as file:
                file.seek(self._position)
                read = file.read(_AT_ONCE)
        except OSError:
            return []
        self._position += len(read)
        *lines, self._rest = (self._rest + read).split(b"\n")
        return [event for line in lines if (event := _event(line)) is not None]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        found: object = json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    event = cast("dict[str, Any]", found)
    told = isinstance(event.get("event"), str) and isinstance(event.get("time"), (int, float))
    return event if told else None


def whole_number(value: object) -> int | None:
    """Read a step from an event; None where it is none."""
    return int(value) if isinstance(value, (int, float)) and value == value // 1 else None


def number(value: object) -> float | None:
    """Read a number from an event; None where it is none."""
    return float(value) if isinstance(value, (int, float)) else None
