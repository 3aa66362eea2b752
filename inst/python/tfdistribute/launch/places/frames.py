"""Frames of the protocol between the supervisor and the agent of a host.

A frame is 4 bytes with the length of the rest, 4 bytes with the length of a JSON object, the object, and raw bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

# Begins what an agent writes; a shell may have printed something before.
MARK = b"\n\x02tfdistribute agent 1\x03\n"

BLOCK_BYTES = 1 << 18

_HEADER = struct.Struct(">II")


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
        """Take the next bytes, and iterate over the messages and data of the frames that are complete."""
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
