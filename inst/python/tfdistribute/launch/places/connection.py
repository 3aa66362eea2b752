"""Connection to an agent by frames.

A frame is 4 bytes with the length of the rest, 4 bytes with the length of a JSON object, the object, and raw bytes.
"""

import contextlib
import json
import os
import select
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfdistribute.launch.places.channel import Channel

# The agent's output begins with it, because a shell may have printed something before.
MARK = b"\n\x02tfdistribute agent 1\x03\n"

BLOCK_BYTES = 1 << 18

_HEADER = struct.Struct(">II")

_MAX_SAID_BYTES = 1 << 14
# Interval of signs of life, unless a quarter of the lease is shorter.
_BEAT_S = 1.0

Receive = Callable[[dict[str, Any], bytes], None]


def encode(message: Mapping[str, Any], data: bytes = b"") -> bytes:
    head = json.dumps(message).encode()
    return _HEADER.pack(4 + len(head) + len(data), len(head)) + head + data


class FrameReader:
    """Reader of frames, which arrive in pieces and begin after a mark."""

    def __init__(self, mark: bytes = b"") -> None:
        self._mark, self._incoming = mark, b""

    @property
    def has_begun(self) -> bool:
        return not self._mark

    def read(self, data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        self._incoming += data
        if self._mark and self._mark in self._incoming:
            self._incoming = self._incoming.partition(self._mark)[2]
            self._mark = b""
        while self.has_begun and len(self._incoming) >= _HEADER.size:
            length, head = _HEADER.unpack_from(self._incoming)
            if len(self._incoming) < 4 + length:
                return
            frame, self._incoming = self._incoming[8 : 4 + length], self._incoming[4 + length :]
            yield json.loads(frame[:head]), frame[head:]


class Connection:
    """A connection to one agent, which never blocks.

    Args:
        source: Program that the other end reads to become an agent.
        lease_s: Seconds without a frame after which the other end counts as lost.
        receive: Called with the message and the data of each frame.
    """

    def __init__(self, channel: Channel, source: bytes, lease_s: float, receive: Receive) -> None:
        self.channel = channel
        self._lease_s, self._receive = lease_s, receive
        self._sending = source
        self._messages: deque[bytes] = deque()
        self._files: deque[Iterator[bytes]] = deque()
        self._reader = FrameReader(MARK)
        self._beat_at = self._heard = time.monotonic()
        self.said = ""
        self.lost: str | None = None

    @property
    def words(self) -> str:
        """Output of the other end, or the reason why it is not there yet."""
        return (self.said or self.channel.waits or "").strip()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message before what is left of files."""
        self._messages.append(encode(message))

    def send_file(self, path: str, name: str, number: int) -> None:
        """Send a file; the agent answers ``number`` with its digest."""
        self._files.append(_file_frames(path, name, number))

    def poll(self) -> None:
        if self.lost is not None:
            return
        if not self.channel.is_open():
            if self.channel.refusal is not None:
                self.lost = self.channel.refusal.problem.rstrip(".")
            return
        now = time.monotonic()
        if self._reader.has_begun and now - self._beat_at > min(_BEAT_S, self._lease_s / 4):
            self._beat_at = now
            self.send({"op": "alive"})
        for move in (self._write, self._read_errors, self._read):
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                move()
        is_late = self._reader.has_begun and time.monotonic() - self._heard > self._lease_s
        if self.lost is None and is_late:
            self._lose(f"nothing was heard of it for {self._lease_s:g} seconds")

    def register(self, poll: select.poll) -> None:
        if self.lost is None and not self.channel.is_open():
            for descriptor in self.channel.opening:
                poll.register(descriptor, select.POLLIN)
        elif self.lost is None:
            flags = dict.fromkeys((self.channel.reading, self.channel.errors), select.POLLIN)
            if self._sending or (self._reader.has_begun and (self._messages or self._files)):
                # The input and the output of a socket are one descriptor.
                flags[self.channel.writing] = flags.get(self.channel.writing, 0) | select.POLLOUT
            for descriptor, events in flags.items():
                poll.register(descriptor, events)

    def end(self) -> None:
        self.lost = self.lost or "the connection was closed"
        self.channel.end()

    def close(self, seconds: float) -> None:
        self.end()
        self.channel.close(seconds)

    def _write(self) -> None:
        while self._sending or self._reader.has_begun:
            self._sending = self._sending or self._next()
            if not self._sending:
                return
            self._sending = self._sending[os.write(self.channel.writing, self._sending) :]

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
        text = _read(self.channel.errors).decode(errors="replace")
        self.said = (self.said + text)[-_MAX_SAID_BYTES:]

    def _read(self) -> None:
        while data := _read(self.channel.reading):
            self._heard = time.monotonic()
            for message, content in self._reader.read(data):
                self._receive(message, content)
        self._lose("the connection to it ended")

    def _lose(self, why: str) -> None:
        with contextlib.suppress(BlockingIOError):
            self._read_errors()
        self.lost = why
        # An agent that can still be reached ends with the channel.
        self.close(0)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, BLOCK_BYTES)
    except ConnectionResetError:
        return b""


def _file_frames(path: str, name: str, number: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        is_last = False
        while not is_last:
            data = file.read(BLOCK_BYTES)
            is_last = len(data) < BLOCK_BYTES
            message = {"op": "file", "name": name, "id": number, "is_last": is_last}
            yield encode(message, data)
