"""Sums over the workers of one machine, through memory that they share.

Each worker writes its part of a sum into its own memory, and adds up all parts in the order of ranks, so that all
workers get the same bits. Writing never waits, because each part has two places, used in turn, and no worker can be
more than one step ahead of another. The memory has no name, so it is freed with its last process.
"""

import contextlib
import hashlib
import mmap
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute.engine.collectives.connections import Connections

# TensorFlow takes an array without copying it if it begins at a multiple of this.
_ALIGNMENT = 64


@dataclass(frozen=True)
class Layout:
    dtype: str
    sizes: tuple[int, ...]

    @property
    def ranges(self) -> list[slice]:
        slices: list[slice] = []
        begin = 0
        for size in self.sizes:
            slices.append(slice(begin, begin + size))
            begin += self._room(size)
        return slices

    @property
    def length(self) -> int:
        return max(1, sum(self._room(size) for size in self.sizes))

    @property
    def size_bytes(self) -> int:
        item_bytes = np.dtype(self.dtype).itemsize
        return -(-self.length * item_bytes // _ALIGNMENT) * _ALIGNMENT

    def _room(self, size: int) -> int:
        unit = _ALIGNMENT // np.dtype(self.dtype).itemsize
        return -(-size // unit) * unit


class NoSharedMemoryError(RuntimeError):
    """Memory cannot be shared; ``error`` is None if another worker cannot have it."""

    def __init__(self, size: int, error: OSError | None) -> None:
        self.note = None
        if error is not None:
            self.note = (
                f"The workers send their gradients as messages: {size:,} bytes of memory to share cannot be allocated "
                f'({error.strerror}). "ulimit -a" shows the limits.'
            )
        super().__init__(self.note)


class SharedSums:
    """Sums over the workers of one machine; all raise NoSharedMemoryError if one of them cannot have the memory."""

    def __init__(self, connections: Connections, rank: int, layouts: Sequence[Layout]) -> None:
        self._connections = connections
        self._layouts = list(layouts)
        self._ranges = [layout.ranges for layout in layouts]
        self._size = max(1, 2 * sum(layout.size_bytes for layout in layouts))
        # How often each sum was written and read, and how often each of the others has written it.
        self._written, self._read = [0] * len(layouts), [0] * len(layouts)
        self._heard = {peer: [0] * len(layouts) for peer in connections.peers}
        error = self._share(rank)
        # Either all workers sum in shared memory, or none does.
        if not self._agree(error is None):
            raise NoSharedMemoryError(self._size, error) from error

    def _share(self, rank: int) -> OSError | None:
        own, error = None, None
        digest = hashlib.sha256(repr(self._layouts).encode()).digest()
        with contextlib.ExitStack() as opened:
            try:
                own = _memory(self._size, opened)
            except OSError as refused:
                error = refused
            descriptors = self._connections.exchange(own, digest)
            others = {peer: each for peer, each in descriptors.items() if each is not None}
            for descriptor in others.values():
                opened.callback(os.close, descriptor)
            if own is None or len(others) < len(descriptors):
                return error
            try:
                parts = {rank: self._map(own, mmap.PROT_READ | mmap.PROT_WRITE)}
                parts |= {peer: self._map(each, mmap.PROT_READ) for peer, each in others.items()}
                self._totals = [_private(layout) for layout in self._layouts]
            except OSError as refused:
                return refused
        self._own = parts[rank]
        self._parts = [part for _, part in sorted(parts.items())]
        return None

    def _agree(self, can_share: bool) -> bool:
        self._connections.broadcast(int(can_share))
        for peer, heard in self._heard.items():
            answer, *written = self._connections.receive(peer)
            can_share &= bool(answer)
            for number in written:
                heard[number] += 1
        return can_share

    def write(self, number: int, arrays: Iterable[Any]) -> None:
        place = self._own[number][self._written[number] % 2]
        for where, array in zip(self._ranges[number], arrays, strict=True):
            np.copyto(place[where], array.reshape(-1))
        self._written[number] += 1
        self._connections.broadcast(number)

    def read(self, number: int) -> list[Any]:
        """Wait for all parts of a sum, and return flat arrays. Only one thread may read at a time."""
        before = self._read[number]
        for peer, heard in self._heard.items():
            while heard[number] <= before:
                for each in self._connections.receive(peer):
                    heard[each] += 1
        self._read[number] = before + 1
        first, second, *others = (part[number][before % 2] for part in self._parts)
        total = self._total(number)
        np.add(first, second, out=total)
        for part in others:
            np.add(total, part, out=total)
        return [total[where] for where in self._ranges[number]]

    def _total(self, number: int) -> Any:
        # The list, and the call.
        if sys.getrefcount(self._totals[number]) > 2:
            self._totals[number] = _private(self._layouts[number])
        return self._totals[number]

    def _map(self, descriptor: int, access: int) -> list[list[Any]]:
        memory = mmap.mmap(descriptor, self._size, prot=access)
        views: list[list[Any]] = []
        begin = 0
        for layout in self._layouts:
            begins = (begin, begin + layout.size_bytes)
            views.append([np.frombuffer(memory, layout.dtype, layout.length, at) for at in begins])
            begin += 2 * layout.size_bytes
        return views


def _memory(size: int, opened: contextlib.ExitStack) -> int:
    descriptor = os.memfd_create("tfdistribute")
    opened.callback(os.close, descriptor)
    os.ftruncate(descriptor, size)
    return descriptor


def _private(layout: Layout) -> Any:
    return np.frombuffer(mmap.mmap(-1, layout.size_bytes), layout.dtype, layout.length)
