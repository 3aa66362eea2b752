"""Text that a running job shows on the console."""

import os
import sys
import time
from collections.abc import Iterable
from typing import Any

from tfdistribute.cli import job_text
from tfdistribute.launch.host.logs import LogReader

_PROGRESS_EVERY_S = 10.0


class JobConsole:
    def __init__(self, level: str) -> None:
        self._level = level
        self._position: str | None = None
        self._notes = 0
        self._phase = ""
        self._has_named = False
        self._printed_at = 0.0
        self._is_open = True

    def __call__(self, state: dict[str, Any]) -> None:
        reader = LogReader(state["tasks"], self._position, self._level)
        lines = reader.read_new()
        self._position = reader.position
        self._print([*self._news(state), *lines])

    def _news(self, state: dict[str, Any]) -> list[str]:
        lines: list[str] = []
        if not self._has_named and state["tasks"]:
            self._has_named = True
            names = ", ".join(task["task"] for task in state["tasks"])
            lines.append(f"job {state['id']}: {names}; logs in {state['logs']}")
        notes = state["notes"][self._notes :]
        self._notes = len(state["notes"])
        lines += notes
        if state["state"] != self._phase:
            self._phase = state["state"]
            if state["message"] not in notes:
                lines.append(f"{state['state']}: {state['message']}")
            if state["state"] in ("restarting", "failed"):
                lines += job_text.table(state)
        now = time.monotonic()
        progress = job_text.progress(state)
        if progress and now - self._printed_at > _PROGRESS_EVERY_S:
            self._printed_at = now
            lines.append(progress)
        return lines

    def _print(self, lines: Iterable[str]) -> None:
        try:
            for line in lines:
                if self._is_open:
                    print(line, flush=True)
        except BrokenPipeError:
            # The reader has closed the pipe; the job continues, and Python exits normally.
            self._is_open = False
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
