"""Processes of this machine, as the kernel tells of them and takes care of them. Plain Python."""

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

# How long a killed process may take to be gone.
END_S = 3.0

_TICK_S = 0.01

# Loaded before any child is made: a child between fork and exec should not load libraries.
if sys.platform == "linux":
    _libc = ctypes.CDLL(None)


def die_with_parent(parent: int) -> None:
    """Let this process be killed as soon as its parent is gone; for a child that was just made.

    Args:
        parent: The parent's process id, which may already be gone.

    Source:
        https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
    """
    if sys.platform == "linux":
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of what children leave behind, so that it can be found and ended.

    Source:
        https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
    """
    if sys.platform == "linux":
        _libc.prctl(_SET_CHILD_SUBREAPER, 1)


def start_time(pid: int) -> str | None:
    """Say when a process was started, in the kernel's words: with its id it names one process for ever.

    Args:
        pid: Process id.

    Returns:
        The time; None where no such process runs, "" where the kernel does not tell.
    """
    if not Path("/proc/self/stat").exists():
        return "" if _answers(pid) else None
    fields = _stat(pid)
    return None if fields is None or fields[0] == "Z" else fields[19]


def cpu_seconds(pid: int) -> float:
    """Count the processor time that a process has used; 0 where the kernel does not tell."""
    fields = _stat(pid)
    ticks = os.sysconf("SC_CLK_TCK")
    return 0.0 if fields is None else (int(fields[11]) + int(fields[12])) / ticks


def catches(pid: int, number: int) -> bool:
    """Say whether a process has a handler for a signal; True where the kernel does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return not Path("/proc/self/status").exists()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def kill_children() -> None:
    """Kill and collect every child of this process, also those that it adopted; for the very end.

    What a killed child leaves behind comes to this process too, so this goes on until there is none. One that the
    kernel does not let end, such as while a network file system does not answer, is waited for a moment only.
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
    """Fields of /proc/PID/stat from the third on; the second may hold any characters."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
