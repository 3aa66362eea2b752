"""Ports of this machine: listeners, and free ports."""

import contextlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LISTENING = "0A"


@dataclass(frozen=True)
class Listener:
    pid: int | None = None  # None if this user may not see it.
    name: str | None = None

    def __str__(self) -> str:
        return "another user's process" if self.pid is None else f"{self.name} (pid {self.pid})"


def listener(port: int) -> Listener | None:
    """Return the listener on a TCP port of any network interface, as TensorFlow's server binds all; None if free."""
    if not Path("/proc/net/tcp").exists():
        return None if _can_be_bound(port) else Listener()
    sockets = {inode for taken, inode in _listening() if taken == port}
    return _owner(sockets) if sockets else None


def free_ports(count: int) -> tuple[int, ...]:
    """Find free ports. They are not reserved: another program may take one before it is used."""
    with contextlib.ExitStack() as stack:
        # All stay bound until the last is found, so that none is found twice.
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("", 0))
        return tuple(int(each.getsockname()[1]) for each in held)


def _listening() -> Iterator[tuple[int, str]]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING:
                    yield int(fields[1].rpartition(":")[2], 16), fields[9]


def _owner(sockets: set[str]) -> Listener:
    links = {f"socket:[{inode}]" for inode in sockets}
    for process in Path("/proc").glob("[0-9]*"):
        # Processes may end meanwhile, and those of other users are not readable.
        with contextlib.suppress(OSError):
            if any(os.readlink(file) in links for file in _files(process)):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return Listener(int(process.name), name)
    return Listener()


def _files(process: Path) -> Iterator[Path]:
    for file in (process / "fd").iterdir():
        if file.is_symlink():
            yield file


def _can_be_bound(port: int) -> bool:
    with socket.socket() as attempt:
        try:
            attempt.bind(("", port))
        except OSError:
            return False
        return True
