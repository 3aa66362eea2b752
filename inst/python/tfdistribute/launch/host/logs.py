"""The logs of a job's tasks: where they are, and their lines by task and level. Plain Python."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tfdistribute.errors import ArgumentError
from tfdistribute.launch.host.private_directory import check_private

LEVELS = ("debug", "info", "warning", "error")

_AT_ONCE = 1 << 20

_SPARE = "tfdistribute-logs-"

# How programs mark a line's level: TensorFlow's C++, Python's logging (also absl's), and R.
_MARKS = (
    ("error", re.compile(r"^\S+ \S+: [EF] \w|^[EF]\d{4} |^(ERROR|CRITICAL|FATAL)\b|^Error\b")),
    ("error", re.compile(r"^Traceback \(|^Fatal Python error|^Execution halted")),
    ("warning", re.compile(r"^\S+ \S+: W \w|^W\d{4} |^WARNING\b|^Warning\b|^In addition: Warning")),
    ("info", re.compile(r"^\S+ \S+: I \w|^I\d{4} |^INFO\b|^--- ")),
    ("debug", re.compile(r"^DEBUG\b")),
)


def log_directories(id: str, model_dir: str | None, working_directory: str) -> list[str]:  # noqa: A002
    """List where the logs of a job may stand, the best place first.

    Args:
        id: The job.
        model_dir: Directory of the model, where it is one of this machine.
        working_directory: Where the tasks run.

    Returns:
        Directories that need not exist.
    """
    beside_work = os.path.join(working_directory, "tfdistribute-logs", id)
    preferred = beside_work if model_dir is None else os.path.join(model_dir, "logs")
    return [preferred, spare_directory(id)]


def spare_directory(id: str) -> str:  # noqa: A002
    """Where logs and result of a job go when there is no other place."""
    return os.path.join(tempfile.gettempdir(), f"{_SPARE}{id}")


def first_usable(directories: Sequence[str]) -> str | None:
    """Make the first of these directories in which a file can be written.

    Args:
        directories: As ``log_directories`` lists them.

    Returns:
        The directory; None where none of them can be had.
    """
    return next((directory for directory in directories if is_usable(directory)), None)


def is_usable(directory: str) -> bool:
    """Make a directory, and say whether files can be written there, and by nobody else where it is a spare one."""
    is_spare = os.path.basename(directory).startswith(_SPARE)
    try:
        os.makedirs(directory, mode=0o700 if is_spare else 0o777, exist_ok=True)
        if is_spare:
            check_private(directory)
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"-")
    except (OSError, ArgumentError):
        return False
    return True


def tail(path: str, start: int, lines: int = 20) -> str:
    """Give the last lines of a log.

    Args:
        path: The log.
        start: Position at which this job's part begins.
        lines: How many lines.

    Returns:
        The lines; "" where there is no log.
    """
    try:
        with open(path, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(start, end - 200 * lines))
            text = file.read(_AT_ONCE).decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


class LogReader:
    """New lines of several logs, from a position on.

    Args:
        tasks: Rows of a state's table, with "task", "log" and "log_start".
        position: What ``position`` gave before; None for the beginning.
        level: The least level of lines.
    """

    def __init__(
        self, tasks: Sequence[Mapping[str, Any]], position: str | None = None, level: str = "debug"
    ) -> None:
        if level not in LEVELS:
            raise ArgumentError(
                f"`level` is {level!r}, which is no level.",
                f"Use one of {', '.join(LEVELS)}.",
                argument="level",
                value=level,
            )
        self._tasks = tasks
        self._least = LEVELS.index(level)
        self._places = _places(position)

    @property
    def position(self) -> str:
        """How far was read, as text that ``position`` takes."""
        return json.dumps(self._places)

    def new(self) -> list[str]:
        """Read the lines that were written since the last time.

        Returns:
            Lines with the task before them: "[worker 1] ..."; task by task, since lines have no times of their own.
        """
        return [f"[{task['task']}] {line}" for task in self._tasks for line in self._of(task)]

    def _of(self, task: Mapping[str, Any]) -> list[str]:
        name, path = str(task["task"]), str(task["log"])
        # A line without a mark belongs to the one before it, such as a traceback's.
        place, level = self._places.get(name, (int(task.get("log_start") or 0), "info"))
        try:
            with open(path, "rb") as file:
                file.seek(place)
                block = file.read(_AT_ONCE)
        except OSError:
            return []
        # The last line waits for its end, but not for ever.
        whole = block if len(block) == _AT_ONCE else block[: block.rfind(b"\n") + 1]
        lines: list[str] = []
        for line in whole.decode(errors="replace").splitlines():
            level = level_of(line) or level
            if LEVELS.index(level) >= self._least:
                lines.append(line)
        self._places[name] = (place + len(whole), level)
        return lines


def level_of(line: str) -> str | None:
    """Say which level a line says it has; None where it says nothing."""
    return next((level for level, mark in _MARKS if mark.search(line)), None)


def written_logs(directory: str) -> list[dict[str, Any]]:
    """List the logs that stand in a directory, as rows that ``LogReader`` takes."""
    return [
        {"task": path.stem.replace("-", " "), "log": str(path), "log_start": 0}
        for path in sorted(Path(directory).glob("*-*.log"))
    ]


def _places(position: str | None) -> dict[str, tuple[int, str]]:
    if not position:
        return {}
    read = cast("dict[str, list[Any]]", json.loads(position))
    return {name: (int(place), str(level)) for name, (place, level) in read.items()}
