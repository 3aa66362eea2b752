"""Broker of a job, to which the members of its gang connect, each with the token of the job."""

import contextlib
import json
import secrets
import socket
import time
from collections.abc import Sequence
from typing import Any, cast

STREAMS = ("agent", "errors")

_MAX_HELLO_BYTES = 1 << 10
_HELLO_S = 5.0
# Connections that have not yet shown the token.
_MOST_CALLERS = 256


class _Caller:
    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection, self.said = connection, b""
        self.until = time.monotonic() + _HELLO_S

    def hello(self) -> dict[str, Any] | None:
        """Return the caller's message; None before it arrives, empty if the caller is not a member."""
        try:
            # A member sends nothing else before the supervisor asks.
            data = self.connection.recv(_MAX_HELLO_BYTES)
            self.said += data
            if not data or len(self.said) > _MAX_HELLO_BYTES:
                return {}
            if self.said.endswith(b"\n"):
                found = json.loads(self.said)
                return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        except BlockingIOError:
            pass
        except (OSError, ValueError):
            return {}
        return None if time.monotonic() < self.until else {}


class Broker:
    """A port at one address of this machine, which is only polled."""

    def __init__(self, address: str) -> None:
        self.token = secrets.token_hex(32)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._server = socket.create_server((address, 0), family=family, backlog=1024)
        self._server.setblocking(False)
        self.host, self.port = self._server.getsockname()[:2]
        self._callers: list[_Caller] = []
        # The newest pair of connections of each member.
        self._pairs: dict[int, tuple[str, dict[str, socket.socket]]] = {}

    @property
    def descriptors(self) -> list[int]:
        return [
            each.fileno() for each in (self._server, *(one.connection for one in self._callers))
        ]

    def poll(self) -> None:
        with contextlib.suppress(OSError):
            while len(self._callers) < _MOST_CALLERS:
                self._callers.append(_Caller(self._server.accept()[0]))
        waiting: list[_Caller] = []
        for caller in self._callers:
            hello = caller.hello()
            if hello is None:
                waiting.append(caller)
            elif self._is_member(hello):
                self._welcome(caller.connection, hello)
            else:
                caller.connection.close()
        self._callers = waiting

    def _is_member(self, hello: dict[str, Any]) -> bool:
        is_known = hello.get("stream") in STREAMS and isinstance(hello.get("index"), int)
        token = str(hello.get("token")).encode(errors="replace")
        return secrets.compare_digest(token, self.token.encode()) and is_known

    def _welcome(self, connection: socket.socket, hello: dict[str, Any]) -> None:
        index, caller = int(hello["index"]), str(hello.get("caller"))
        if index not in self._pairs or self._pairs[index][0] != caller:
            self._forget(index)
            self._pairs[index] = (caller, {})
        self._pairs[index][1][hello["stream"]] = connection

    def _forget(self, index: int) -> None:
        for each in self._pairs.pop(index, ("", {}))[1].values():
            each.close()

    def take(self, index: int) -> list[socket.socket] | None:
        """Return the connections of a member by ``STREAMS``; None if it has not called, or is gone."""
        self.poll()
        pair = self._pairs.get(index, ("", {}))[1]
        if len(pair) < len(STREAMS):
            return None
        if _is_gone(pair["agent"]):
            self._forget(index)
            return None
        del self._pairs[index]
        return [pair[stream] for stream in STREAMS]

    def close(self) -> None:
        self._server.close()
        _close(caller.connection for caller in self._callers)
        for index in list(self._pairs):
            self._forget(index)


def _close(connections: Any) -> None:
    for connection in connections:
        connection.close()


def _is_gone(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def send_order(connection: socket.socket, command: Sequence[str]) -> None:
    # The order is shorter than any buffer of a socket.
    connection.sendall(json.dumps({"command": list(command)}).encode() + b"\n")
