"""What a task that R runs tells the process that watches over it. TensorFlow is not started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfdistribute import task_events


def task_event(event: str, fields: Mapping[str, Any] | None = None) -> None:
    """Tell one event; "started" also lets SIGUSR1 show where the process stands.

    A failure that Python has told already is not told again by R, which knows less of it.
    """
    if event == "started":
        task_events.emit_started()
    elif event != "failed" or not task_events.has_emitted_failure():
        task_events.emit(event, **(fields or {}))
