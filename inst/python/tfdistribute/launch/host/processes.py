"""Process control: parent death signals, orphans, process facts from the kernel."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36

# How long a killed process may take to end.
END_S = 3.0

_TICK_S = 0.01

# Activity above which a process makes progress. One that only waits uses less.
_BUSY = 0.01
_PAGE_FAULTS_PER_S = 20
_READ_BYTES_PER_S = 10_000

# Loaded before the first fork: a child should not load libraries between fork and exec.
if sys.platform == "linux":
    _libc = ctypes.CDLL(None)


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Let the kernel send a signal to this process when its parent ends; for a child just after its fork.

    Source:
        https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
    """
    if sys.platform == "linux":
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, number)
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, so that they can be found and killed.

    Source:
        https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
    """
    if sys.platform == "linux":
        _libc.prctl(_SET_CHILD_SUBREAPER, 1)


def start_time(pid: int) -> str | None:
    """Return when a process started, in the kernel's units. With its id this identifies a process for ever.

    None if no such process runs, "" if the kernel does not report it.
    """
    if not Path("/proc/self/stat").exists():
        return "" if _exists(pid) else None
    fields = _stat(pid)
    return None if fields is None or fields[0] == "Z" else fields[19]


@dataclass(frozen=True)
class Activity:
    """What a process has done so far, as the kernel counts it.

    Args:
        cpu_s: CPU time in seconds.
        page_faults: Pages of memory that it has begun to use, or that were read back from the disk.
        read_bytes: Bytes that it has read.
        is_suspended: Whether a signal such as SIGSTOP keeps it from doing anything.
    """

    cpu_s: float = 0.0
    page_faults: int = 0
    read_bytes: int = 0
    is_suspended: bool = False

    def is_progress_since(self, before: Activity, seconds: float) -> bool:
        """Return whether a process has done more in ``seconds`` than one that only waits and looks around.

        A process that imports libraries or reads data on a busy machine may get very little CPU time.
        """
        return (
            self.cpu_s - before.cpu_s > _BUSY * seconds
            or self.page_faults - before.page_faults > _PAGE_FAULTS_PER_S * seconds
            or self.read_bytes - before.read_bytes > _READ_BYTES_PER_S * seconds
        )


def activity(pid: int) -> Activity:
    """Return what a process has done so far; zeros for what the kernel does not report."""
    fields = _stat(pid)
    if fields is None:
        return Activity()
    ticks = os.sysconf("SC_CLK_TCK")
    cpu_s = (int(fields[11]) + int(fields[12])) / ticks
    page_faults = int(fields[7]) + int(fields[9])
    return Activity(cpu_s, page_faults, _read_bytes(pid), is_suspended=fields[0] in "Tt")


def catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler for a signal; True if the kernel does not report it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return not Path("/proc/self/status").exists()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def kill_children() -> None:
    """Kill and reap every child of this process, including adopted ones.

    Children of a killed child are adopted in turn, so this repeats until none is left. A process that the kernel cannot
    end, for example while a network file system hangs, is waited for only ``END_S``.
    """
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
    """Return the fields of /proc/PID/stat from the third on; the second may contain any characters."""
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
