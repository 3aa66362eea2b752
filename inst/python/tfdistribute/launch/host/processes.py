"""Process control: parent death signals, orphans, process facts from the kernel."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36

# How long a killed process may take to end.
END_S = 3.0

_TICK_S = 0.01

# Loaded before the first fork: a child should not load libraries between fork and exec.
if sys.platform == "linux":
    _libc = ctypes.CDLL(None)


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent ends; for a child between fork and exec.

    Source:
        https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
    """
    if sys.platform == "linux":
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
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


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used; 0 if the kernel does not report it."""
    fields = _stat(pid)
    ticks = os.sysconf("SC_CLK_TCK")
    return 0.0 if fields is None else (int(fields[11]) + int(fields[12])) / ticks


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


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
