"""Parent death signals, orphans, requests to stop, and facts about processes from the kernel."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

# Signals that request the end of a job.
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36

# How long a killed process may take to end.
END_S = 3.0

_TICK_S = 0.01

# A process with less activity only waits.
_BUSY = 0.01
_PAGE_FAULTS_PER_S = 20
_READ_BYTES_PER_S = 10_000

# Loaded before the first fork, because a child should not load libraries between fork and exec.
if sys.platform == "linux":
    _libc = ctypes.CDLL(None)


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Make the kernel send a signal to this process, just after its fork, when its parent ends."""
    if sys.platform == "linux":
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, number)
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, so that they can be found and killed."""
    if sys.platform == "linux":
        _libc.prctl(_SET_CHILD_SUBREAPER, 1)


def start_time(pid: int) -> str | None:
    """Return the start in the kernel's units, which with the id is unique; None if not running, "" if not reported."""
    if not Path("/proc/self/stat").exists():
        return "" if _exists(pid) else None
    fields = _stat(pid)
    return None if fields is None or fields[0] == "Z" else fields[19]


class Watch:
    """A process of another program, or none, and whether it has ended since."""

    def __init__(self, pid: int | None) -> None:
        self._pid, self._start = pid, None if pid is None else start_time(pid)

    def is_gone(self) -> bool:
        if self._pid is None:
            return False
        return self._start is None or start_time(self._pid) != self._start


@dataclass(frozen=True)
class Activity:
    """Counters of a process from the kernel; ``page_faults`` also counts pages that it has begun to use."""

    cpu_s: float = 0.0
    page_faults: int = 0
    read_bytes: int = 0
    is_suspended: bool = False

    def is_progress_since(self, before: "Activity", seconds: float) -> bool:
        """Return whether a process has done more in ``seconds`` than one that only waits, even with little CPU time."""
        return (
            self.cpu_s - before.cpu_s > _BUSY * seconds
            or self.page_faults - before.page_faults > _PAGE_FAULTS_PER_S * seconds
            or self.read_bytes - before.read_bytes > _READ_BYTES_PER_S * seconds
        )


def activity(pid: int) -> Activity:
    fields = _stat(pid)
    if fields is None:
        return Activity()
    ticks = os.sysconf("SC_CLK_TCK")
    cpu_s = (int(fields[11]) + int(fields[12])) / ticks
    page_faults = int(fields[7]) + int(fields[9])
    return Activity(cpu_s, page_faults, _read_bytes(pid), is_suspended=fields[0] in "Tt")


def catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler for a signal; True if not known."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return not Path("/proc/self/status").exists()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def kill_children() -> None:
    """Kill and reap all children, and adopted ones in turn; wait only ``END_S`` if the kernel cannot end one."""
    end = time.monotonic() + END_S
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            for child in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(_TICK_S)


def _children() -> list[int]:
    own = str(os.getpid())
    numbers = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in numbers if (_stat(pid) or ["", ""])[1] == own]


def _stat(pid: int) -> list[str] | None:
    # The fields from the third on, because the second may contain any characters.
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _read_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("rchar:")), 0)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class StopRequests:
    """Counter of stop signals: the first requests a checkpoint and the end, the second ends without waiting."""

    def __init__(self, names: Sequence[str] = SIGNALS) -> None:
        self.count = 0
        self.first: int | None = None
        self._names = names
        self._is_told = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequests":
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
        """Count a signal that this process should have received, and the one that follows as the same."""
        if self.count == 0:
            self._increment(number, None)
            self._is_told = True

    def _increment(self, number: int, _: object) -> None:
        if self._is_told:
            self._is_told = False
            return
        self.first = number if self.first is None else self.first
        self.count += 1
