"""Connections between the workers of one machine, which pass the descriptors of the memory that they share."""

import os
import secrets
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

from tfdistribute.errors import ClusterError

_CREDENTIALS = struct.Struct("3i")
_NUMBER = struct.Struct("=i")
_READ_BYTES = 4096

# Text of errors by which a lost worker is recognized.
BROKEN = "The connection to another worker is closed"


class BrokenExchangeError(RuntimeError):
    def __init__(self, rank: int) -> None:
        super().__init__(f"{BROKEN}: rank {rank}.")


def shared_memory_domain() -> str | None:
    """Return a text that is the same in all processes that can share memory with this one; None if none can."""
    if not (hasattr(os, "memfd_create") and hasattr(socket, "SO_PEERCRED")):
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # Names of sockets belong to a network namespace.
        network = os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return None
    return f"{boot}/{network}/{os.geteuid()}"


class Listener:
    def __init__(self) -> None:
        self.name = f"tfdistribute-{secrets.token_hex(16)}"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(_address(self.name))
        self.socket.listen(128)

    def close(self) -> None:
        self.socket.close()


class Connections:
    def __init__(
        self, listener: Listener, rank: int, names: Sequence[str], timeout_s: float
    ) -> None:
        self._listener = listener
        self._rank = rank
        self._names = names
        self._timeout_s = timeout_s
        self._sockets: dict[int, socket.socket] = {}

    @property
    def peers(self) -> list[int]:
        return [peer for peer in range(len(self._names)) if peer != self._rank]

    def exchange(self, descriptor: int | None, digest: bytes) -> dict[int, int | None]:
        """Connect to all other workers, and exchange file descriptors with them, which the caller closes.

        A descriptor is None for a worker without one. Raises BrokenExchangeError, or ClusterError for another
        ``digest``.
        """
        peer_descriptors: dict[int, int | None] = {}
        own = [] if descriptor is None else [descriptor]
        hello = _NUMBER.pack(self._rank) + digest
        try:
            for peer in range(self._rank):
                connection = self._sockets[peer] = socket.socket(socket.AF_UNIX)
                connection.settimeout(self._timeout_s)
                connection.connect(_address(self._names[peer]))
                socket.send_fds(connection, [hello], own)
            self._listener.socket.settimeout(self._timeout_s)
            while len(self._sockets) < len(self.peers):
                connection = self._listener.socket.accept()[0]
                connection.settimeout(self._timeout_s)
                if not _is_own(connection):
                    connection.close()
                    continue
                self._sockets[self._receive(connection, digest, peer_descriptors)] = connection
                socket.send_fds(connection, [hello], own)
            for peer in range(self._rank):
                self._receive(self._sockets[peer], digest, peer_descriptors)
        except OSError as error:
            missing = [peer for peer in self.peers if peer not in peer_descriptors]
            raise BrokenExchangeError(missing[0]) from error
        for connection in self._sockets.values():
            connection.settimeout(None)
        return peer_descriptors

    def _receive(
        self, connection: socket.socket, digest: bytes, peer_descriptors: dict[int, int | None]
    ) -> int:
        # No more than that: a first number may follow at once.
        size = _NUMBER.size + len(digest)
        text, descriptors, _, _ = socket.recv_fds(connection, size, 1)
        if len(text) < _NUMBER.size:
            raise ConnectionResetError
        (peer,) = _NUMBER.unpack_from(text)
        peer_descriptors[peer] = descriptors[0] if descriptors else None
        if text[_NUMBER.size :] != digest:
            raise ClusterError(
                f"The workers of rank {self._rank} and {peer} sum different tensors in a step.",
                "Start the same script for every task.",
                argument="cluster",
            )
        return peer

    def broadcast(self, number: int) -> None:
        message = _NUMBER.pack(number)
        for peer, connection in self._sockets.items():
            try:
                connection.sendall(message)
            except OSError as error:
                raise BrokenExchangeError(peer) from error

    def receive(self, peer: int) -> list[int]:
        try:
            messages = self._sockets[peer].recv(_READ_BYTES)
        except OSError:
            messages = b""
        if not messages:
            raise BrokenExchangeError(peer)
        return [number for (number,) in _NUMBER.iter_unpack(messages)]

    def close(self) -> None:
        """Close all connections, which ends a wait on another thread. Idempotent."""
        self._listener.close()
        for connection in self._sockets.values():
            try:
                # Closing alone would not wake the other thread.
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


def _address(name: str) -> str:
    # A zero byte begins a name that is not in the file system, and that ends with its socket.
    return f"\0{name}"


def _is_own(connection: socket.socket) -> bool:
    """Return whether a process of the same user has connected, because all users can see the name."""
    text = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(text)[1] == os.geteuid()
