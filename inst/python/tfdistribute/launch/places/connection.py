"""Connection to an agent: the pipe of a command, such as ssh, that carries frames."""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfdistribute.launch.places.agent import MARK

Receive = Callable[[dict[str, Any], bytes], None]

# Reads the agent's source and runs it. Neither line breaks nor single quotes: any remote shell passes it on.
_LOADER = "import sys;i=sys.stdin.buffer;exec(i.read(int(i.read(8))))"
_AGENT = Path(__file__).with_name("agent.py")

_BLOCK_BYTES = 1 << 18
_MAX_SAID_BYTES = 1 << 14
# A sign of life is sent this often, or four times within a lease.
_BEAT_S = 1.0


def agent_command(python: str, lease_s: float, job: str, temporary: str | None = None) -> list[str]:
    """Return the command that reads the agent of a job from its standard input and runs it.

    ``temporary`` is the directory for its files; None for that of the host.
    """
    agent = [python, "-I", "-S", "-c", _LOADER, f"{lease_s:g}", job]
    # Named twice: where the variable names no directory, Python takes another one.
    return agent if temporary is None else ["env", f"TMPDIR={temporary}", *agent, temporary]


class Connection:
    """A connection to one agent; nothing in it waits.

    Args:
        command: A command whose standard input and output are those of ``agent_command``.
        lease_s: Seconds without a frame after which the other end counts as lost.
        receive: Called with each frame: its message and its data.

    Raises:
        OSError: the command cannot be run.
    """

    def __init__(self, command: Sequence[str], lease_s: float, receive: Receive) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._input, self._output, self._errors = (_descriptor(pipe) for pipe in pipes)
        self._lease_s, self._receive = lease_s, receive
        source = _AGENT.read_bytes()
        self._sending = b"%08d" % len(source) + source
        self._messages: deque[bytes] = deque()
        self._files: deque[Iterator[bytes]] = deque()
        self._incoming = b""
        self._is_open = False
        self._beat_at = self._heard = time.monotonic()
        self.said = ""
        self.lost: str | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message before what is left of files."""
        self._messages.append(_frame(message))

    def send_file(self, path: str, name: str, number: int) -> None:
        """Send a file; the agent answers ``number`` with its digest."""
        self._files.append(_file_frames(path, name, number))

    def poll(self) -> None:
        """Send and receive what is possible now, and check the lease."""
        if self.lost is not None:
            return
        now = time.monotonic()
        if self._is_open and now - self._beat_at > min(_BEAT_S, self._lease_s / 4):
            self._beat_at = now
            self.send({"op": "alive"})
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            self._write()
        with contextlib.suppress(BlockingIOError):
            self._read_errors()
        with contextlib.suppress(BlockingIOError):
            self._read()
        if self._is_open and self.lost is None and time.monotonic() - self._heard > self._lease_s:
            self._lose(f"nothing was heard of it for {self._lease_s:g} seconds")

    def register(self, poll: select.poll) -> None:
        if self.lost is None:
            for descriptor in (self._output, self._errors):
                poll.register(descriptor, select.POLLIN)
            if self._sending or (self._is_open and (self._messages or self._files)):
                poll.register(self._input, select.POLLOUT)

    def end(self) -> None:
        """Close the pipe: the agent ends with it."""
        self.lost = self.lost or "the connection was closed"
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def close(self, seconds: float) -> None:
        self.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.kill()
        self._process.wait()
        for descriptor in (self._output, self._errors):
            if descriptor >= 0:
                os.close(descriptor)
        self._output = self._errors = -1

    def _write(self) -> None:
        while self._sending or self._is_open:
            self._sending = self._sending or self._next()
            if not self._sending:
                return
            self._sending = self._sending[os.write(self._input, self._sending) :]

    def _next(self) -> bytes:
        if self._messages:
            return self._messages.popleft()
        while self._files:
            block = next(self._files[0], b"")
            if block:
                return block
            self._files.popleft()
        return b""

    def _read_errors(self) -> None:
        text = os.read(self._errors, _BLOCK_BYTES).decode(errors="replace")
        self.said = (self.said + text)[-_MAX_SAID_BYTES:]

    def _read(self) -> None:
        while True:
            data = os.read(self._output, _BLOCK_BYTES)
            if not data:
                self._lose("the connection to it ended")
                return
            self._heard = time.monotonic()
            self._incoming += data
            if not self._is_open and MARK in self._incoming:
                self._incoming = self._incoming.partition(MARK)[2]
                self._is_open = True
            if self._is_open:
                self._take_frames()

    def _take_frames(self) -> None:
        while len(self._incoming) >= 8:
            length, head = struct.unpack(">II", self._incoming[:8])
            if len(self._incoming) < 4 + length:
                return
            frame, self._incoming = self._incoming[8 : 4 + length], self._incoming[4 + length :]
            self._receive(json.loads(frame[:head]), frame[head:])

    def _lose(self, why: str) -> None:
        with contextlib.suppress(BlockingIOError):
            self._read_errors()
        self.lost = why
        # An agent that can still be reached ends with the pipe.
        self.end()
        self._process.kill()
        self._process.wait()


def wait_for_any(connections: Iterable[Connection], seconds: float) -> None:
    """Wait until something can be sent or received, at most this long, and do it."""
    connections = list(connections)
    poll = select.poll()
    for connection in connections:
        connection.register(poll)
    poll.poll(seconds * 1000)
    for connection in connections:
        connection.poll()


def _descriptor(pipe: Any) -> int:
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    os.set_blocking(descriptor, False)
    return descriptor


def _frame(message: Mapping[str, Any], data: bytes = b"") -> bytes:
    head = json.dumps(message).encode()
    return struct.pack(">II", 4 + len(head) + len(data), len(head)) + head + data


def _file_frames(path: str, name: str, number: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        is_last = False
        while not is_last:
            data = file.read(_BLOCK_BYTES)
            is_last = len(data) < _BLOCK_BYTES
            message = {"op": "file", "name": name, "id": number, "is_last": is_last}
            yield _frame(message, data)
