"""Logs of a job's tasks, by task and level."""

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from tfdistribute import storage
from tfdistribute.descriptions import check_choice
from tfdistribute.errors import ArgumentError
from tfdistribute.files import open_own, printable, without_colors
from tfdistribute.launch.host.private_directory import check_private

LEVELS = ("debug", "info", "warning", "error")

_MAX_READ_BYTES = 1 << 20

_FALLBACK = "tfdistribute-logs-"
_ENDINGS = (".log", ".json", ".out")

# Prefixes of a line by level, from TensorFlow's C++, Python's logging and absl, and R.
_LEVEL_PATTERNS = (
    ("error", re.compile(r"^\S+ \S+: [EF] \w|^[EF]\d{4} |^(ERROR|CRITICAL|FATAL)\b|^Error\b")),
    ("error", re.compile(r"^Traceback \(|^Fatal Python error|^Execution halted")),
    ("warning", re.compile(r"^\S+ \S+: W \w|^W\d{4} |^WARNING\b|^Warning\b|^In addition: Warning")),
    ("info", re.compile(r"^\S+ \S+: I \w|^I\d{4} |^INFO\b|^--- ")),
    ("debug", re.compile(r"^DEBUG\b")),
)


# TensorFlow's C++ writes an error or a warning in one line, so the next line without a level is from other code.
_ONE_LINE = re.compile(r"^\S+ \S+: [EW] \w|^[EW]\d{4} ")


def log_directories(id: str, model_dir: str | None, working_directory: str) -> list[str]:  # noqa: A002
    """List directories for a job's logs, the preferred one first; ``model_dir`` is None if remote or unknown."""
    beside_tasks = os.path.join(working_directory, "tfdistribute-logs", id)
    preferred = beside_tasks if model_dir is None else os.path.join(model_dir, "logs")
    return [preferred, fallback_directory(id)]


def fallback_directory(id: str) -> str:  # noqa: A002
    return os.path.join(tempfile.gettempdir(), f"{_FALLBACK}{id}")


def remove_fallback(id: str) -> None:  # noqa: A002
    directory = fallback_directory(id)
    with contextlib.suppress(ArgumentError):
        check_private(directory)
        shutil.rmtree(directory, ignore_errors=True)


def is_usable(directory: str) -> bool:
    """Make a directory and return whether the job can write logs there. A fallback must be private."""
    is_fallback = os.path.basename(directory).startswith(_FALLBACK)
    try:
        os.makedirs(directory, mode=0o700 if is_fallback else 0o777, exist_ok=True)
        if is_fallback:
            check_private(directory)
        for entry in os.scandir(directory):
            if entry.name.endswith(_ENDINGS) and not entry.is_file(follow_symlinks=False):
                # Another user has put it in the place of a log.
                return False
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"-")
    except (OSError, ArgumentError):
        return False
    return True


def open_log(path: str) -> int:
    """Open a log for appending, or /dev/null if the disk is full."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
    try:
        return open_own(path, flags | os.O_CREAT)
    except OSError:
        return os.open(os.devnull, flags)


def append(path: str, data: bytes) -> None:
    """Append to a log as far as the disk has space."""
    log = open_log(path)
    with contextlib.suppress(OSError):
        os.write(log, data)
    os.close(log)


def tail(path: str, start: int, lines: int = 20) -> str:
    """Return the last lines of a log from byte ``start`` on; "" if there is no log."""
    try:
        with storage.open_own(path) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(start, end - 200 * lines))
            text = file.read(_MAX_READ_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return printable(without_colors("\n".join(text.splitlines()[-lines:])))


class LogReader:
    """Reader of new lines from ``level`` on in the logs of a job's tasks, from an earlier reader's ``position`` on."""

    def __init__(
        self, tasks: Sequence[Mapping[str, Any]], position: str | None = None, level: str = "debug"
    ) -> None:
        check_choice("level", level, LEVELS)
        self._tasks = tasks
        self._minimum = level
        self._positions = _parse_position(position)

    @property
    def position(self) -> str:
        return json.dumps(self._positions)

    def read_new(self) -> list[str]:
        """Read new lines such as "[worker 1] ...", grouped by task because lines have no timestamps."""
        return [f"[{task['task']}] {line}" for task in self._tasks for line in self._read(task)]

    def _read(self, task: Mapping[str, Any]) -> list[str]:
        name, path = str(task["task"]), str(task["log"])
        read, level = self._positions.get(name, (0, "info"))
        try:
            with storage.open_own(path) as file:
                # Relative to the log's start, which moves when the log becomes a part of a remote one.
                file.seek(int(task.get("log_start") or 0) + read)
                block = file.read(_MAX_READ_BYTES)
        except OSError:
            return []
        # An incomplete last line is left for the next call, unless it fills the whole block.
        whole = block if len(block) == _MAX_READ_BYTES else block[: block.rfind(b"\n") + 1]
        text = whole.decode(errors="replace")
        lines, level = choose_lines(text.splitlines(), self._minimum, level)
        self._positions[name] = (read + len(whole), level)
        return lines


def level_of(line: str) -> str | None:
    return next((level for level, pattern in _LEVEL_PATTERNS if pattern.search(line)), None)


def choose_lines(lines: Iterable[str], minimum: str, level: str = "info") -> tuple[list[str], str]:
    """Return the lines of at least a level, and the level of the last one.

    A line without a level belongs to the one before it, as in a traceback, unless C++ wrote that. ``level`` is the
    level of the line before. Escape sequences of a terminal other than colors become visible characters.
    """
    chosen: list[str] = []
    for line in lines:
        level = level_of(line) or level
        if LEVELS.index(level) >= LEVELS.index(minimum):
            chosen.append(printable(line, colors=True))
        if _ONE_LINE.search(line):
            level = "info"
    return chosen, level


def check_has_log(task: str | None, names: Sequence[str]) -> None:
    if task is not None and task not in names:
        raise ArgumentError(
            f'`task` is "{task}", which has no log.',
            f"Use one of {', '.join(names)}." if names else "Wait until the tasks are running.",
            value=task,
        )


def _parse_position(position: str | None) -> dict[str, tuple[int, str]]:
    if not position:
        return {}
    read = cast("dict[str, list[Any]]", json.loads(position))
    return {name: (int(place), str(level)) for name, (place, level) in read.items()}
