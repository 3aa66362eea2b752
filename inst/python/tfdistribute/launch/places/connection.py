"""Connection to an agent: the pipe of a command, such as ssh, that carries frames."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

from tfdistribute.launch.places.frames import BLOCK_BYTES, MARK, FrameReader, encode

Receive = Callable[[dict[str, Any], bytes], None]

_MAX_SAID_BYTES = 1 << 14
# A sign of life is sent this often, or four times within a lease.
_BEAT_S = 1.0


class Connection:
    """A connection to one agent; nothing in it waits.

    Args:
        command: A command whose standard input and output are those of an agent.
        source: What it reads before it is an agent.
        lease_s: Seconds without a frame after which the other end counts as lost.
        receive: Called with each frame: its message and its data.

    Raises:
        OSError: the command cannot be run.
    """

    def __init__(
        self, command: Sequence[str], source: bytes, lease_s: float, receive: Receive
    ) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self._pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._input, self._output, self._errors = (_not_blocking(each) for each in self._pipes)
        self._lease_s, self._receive = lease_s, receive
        self._sending = source
        self._messages: deque[bytes] = deque()
        self._files: deque[Iterator[bytes]] = deque()
        self._reader = FrameReader(MARK)
        self._beat_at = self._heard = time.monotonic()
        self.said = ""
        self.lost: str | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message before what is left of files."""
        self._messages.append(encode(message))

    def send_file(self, path: str, name: str, number: int) -> None:
        """Send a file; the agent answers ``number`` with its digest."""
        self._files.append(_file_frames(path, name, number))

    def poll(self) -> None:
        """Send and receive what is possible now, and check the lease."""
        if self.lost is not None:
            return
        now = time.monotonic()
        if self._reader.has_begun and now - self._beat_at > min(_BEAT_S, self._lease_s / 4):
            self._beat_at = now
            self.send({"op": "alive"})
        for move in (self._write, self._read_errors, self._read):
            with contextlib.suppress(BlockingIOError, BrokenPipeError):
                move()
        is_late = self._reader.has_begun and time.monotonic() - self._heard > self._lease_s
        if self.lost is None and is_late:
            self._lose(f"nothing was heard of it for {self._lease_s:g} seconds")

    def register(self, poll: select.poll) -> None:
        """Let a poll wait for what can be received, or sent if there is something to send."""
        if self.lost is None:
            for descriptor in (self._output, self._errors):
                poll.register(descriptor, select.POLLIN)
            if self._sending or (self._reader.has_begun and (self._messages or self._files)):
                poll.register(self._input, select.POLLOUT)

    def end(self) -> None:
        """Close the pipe: the agent ends with it."""
        self.lost = self.lost or "the connection was closed"
        _close(self._pipes[0])

    def close(self, seconds: float) -> None:
        self.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes:
            _close(pipe)

    def _write(self) -> None:
        while self._sending or self._reader.has_begun:
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
        text = os.read(self._errors, BLOCK_BYTES).decode(errors="replace")
        self.said = (self.said + text)[-_MAX_SAID_BYTES:]

    def _read(self) -> None:
        while data := os.read(self._output, BLOCK_BYTES):
            self._heard = time.monotonic()
            for message, content in self._reader.read(data):
                self._receive(message, content)
        self._lose("the connection to it ended")

    def _lose(self, why: str) -> None:
        with contextlib.suppress(BlockingIOError):
            self._read_errors()
        self.lost = why
        # An agent that can still be reached ends with the pipe.
        self.end()
        self._process.kill()
        self._process.wait()


def _not_blocking(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()


def _file_frames(path: str, name: str, number: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        is_last = False
        while not is_last:
            data = file.read(BLOCK_BYTES)
            is_last = len(data) < BLOCK_BYTES
            message = {"op": "file", "name": name, "id": number, "is_last": is_last}
            yield encode(message, data)
