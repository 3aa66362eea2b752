"""This process without what only Linux has: files of the kernel, system calls, and the name of the system.

TensorFlow and other packages are imported first, because theirs are the builds for Linux.
"""

from __future__ import annotations

import builtins
import ctypes
import io
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

_FOLDERS = ("/proc", "/sys", "/dev/shm", "/etc/machine-id")
_ONLY_LINUX: dict[Any, tuple[str, ...]] = {
    os: ("memfd_create", "sched_getaffinity", "sched_setaffinity", "pidfd_open", "eventfd"),
    socket: ("SO_PEERCRED", "AF_NETLINK", "AF_PACKET"),
}
_SYSTEM_CALLS = ("prctl", "unshare", "environ", "setns")


class _Library(ctypes.CDLL):
    def __getattr__(self, name: str) -> Any:
        if name in _SYSTEM_CALLS:
            raise AttributeError(f"symbol not found: {name}")
        return super().__getattr__(name)


def _without_files(function: Callable[..., Any]) -> Callable[..., Any]:
    def looked_up(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        if not isinstance(path, int) and os.fsdecode(path).startswith(_FOLDERS):
            raise FileNotFoundError(2, "No such file or directory", path)
        return function(path, *arguments, **options)

    return looked_up


def leave_linux() -> None:
    """Take the names away, for the life of this process."""
    for module, names in _ONLY_LINUX.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    setattr(ctypes, "CDLL", _Library)  # noqa: B010
    for name in ("open", "stat", "lstat", "readlink", "listdir", "scandir"):
        setattr(os, name, _without_files(getattr(os, name)))
    io.open = builtins.open = _without_files(io.open)
    sys.platform = "darwin"
