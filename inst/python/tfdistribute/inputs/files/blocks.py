"""Reading of files in blocks, by several threads ahead of the training step, in order or shuffled, with bounded memory.

A source offers blocks of about a megabyte. The blocks of an epoch are grouped into windows. Each row is copied once,
from the memory that it was decoded into to its place in the window, and batches are parts of windows. To shuffle, the
blocks are put into random order, and the places of the rows in each window are random. This guarantees:

- a pipeline's range of up to ``WINDOW_BYTES`` is shuffled completely, with every order equally likely;
- in a larger range a row can be anywhere in the epoch, next to rows of any other blocks, but the rows of one
  block share a window, with less than ``WINDOW_BYTES`` of rows between them;
- a block larger than ``WINDOW_BYTES``, such as a large row group, is a window of its own;
- no row leaves its pipeline's range;
- the order does not depend on the number of threads.

Besides the current window, memory holds the next one, or several of up to ``WINDOW_BYTES``, and one whose last batches
are still in use, for files of any size. It is kept for the windows after them.
"""

import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tfdistribute.environment import core_count
from tfdistribute.inputs.files.files import File, check_unchanged
from tfdistribute.inputs.packed.layout import Layout, Matrices
from tfdistribute.sharding import RangePlan, random_generator

BLOCK_BYTES = 2**20
WINDOW_BYTES = 64 * 2**20
# Windows that are read ahead at most. In order, each is as small, since a large one would only delay the first batch.
_MOST_AHEAD = 8
_MOST_READERS = 16


@dataclass(frozen=True)
class Block:
    file: int  # Index.
    first: int
    rows: int


class WindowMemory:
    """Memory for windows, which is lent again once no array is in it, since the system clears new pages."""

    def __init__(self) -> None:
        self._unused: deque[npt.NDArray[np.uint8]] = deque()

    def lend(self, size: int) -> npt.NDArray[np.uint8]:
        memory = np.empty(0, np.uint8)
        while len(memory) < size:
            try:
                # What is too small is dropped.
                memory = self._unused.popleft()
            except IndexError:
                memory = np.empty(size, np.uint8)
        # Views of this array, and tensors in its memory, hold it. Those of a view of an array would hold that array.
        lent = np.frombuffer(memory.data, np.uint8)
        weakref.finalize(lent, self._unused.append, memory)
        return lent[:size]


class Source(Protocol):
    @property
    def files(self) -> tuple[File, ...]: ...

    @property
    def layout(self) -> Layout: ...

    @property
    def row_bytes(self) -> int: ...

    @property
    def blocks(self) -> Sequence[Block]: ...

    @property
    def memory(self) -> WindowMemory: ...

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        """Read part of a block, by rows relative to it; called on several threads at a time.

        Yields pieces if the block is much larger than ``BLOCK_BYTES``: one array of shape [rows, columns] per matrix of
        the layout, which is only read. InputError names the file and the position.
        """
        ...


@dataclass(frozen=True)
class _Part:
    block: Block
    start: int
    stop: int

    @property
    def rows(self) -> int:
        return self.stop - self.start


class RowStream:
    """The rows of one pipeline, epoch after epoch. A seed gives each epoch and pipeline an order of its own."""

    def __init__(self, source: Source, plan: RangePlan, seed: int | None) -> None:
        self._files = source.files
        self._window_rows = _rows_of(WINDOW_BYTES, source)
        # The generator must not hold this stream: TensorFlow drops it without closing it, and its threads end with it.
        self._windows = _windows_from_first(source, plan, seed)
        self._following = next(self._windows, None)
        self._ahead: deque[_Window] = deque()
        self._current: _Window | None = None
        self._readers = ThreadPoolExecutor(reader_count(), "tfdistribute-reader")
        self.close = weakref.finalize(self, self._readers.shutdown, cancel_futures=True)
        self._read_ahead()

    def take(self, rows: int) -> Matrices:
        """Return the next rows, at most as many as are left; InputError if a file cannot be read, or has changed.

        The rows stay in the memory of their window if they all are in one.
        """
        pieces: list[Matrices] = []
        while rows > 0:
            while self._current is None or self._current.left == 0:
                self._current = self._following_window()
            pieces.append(self._current.take(min(rows, self._current.left)))
            rows -= len(pieces[-1][0])
        if len(pieces) == 1:
            return pieces[0]
        return tuple(np.concatenate(matrices) for matrices in zip(*pieces, strict=True))

    def finish(self) -> None:
        check_unchanged(self._files)

    def _following_window(self) -> "_Window":
        if self._current is not None and self._current.ends_epoch:
            self.finish()
        window = self._ahead.popleft()
        self._read_ahead()
        window.wait()
        return window

    def _read_ahead(self) -> None:
        rows = sum(window.rows for window in self._ahead)
        while self._following is not None:
            rows += self._following.rows
            if self._ahead and (rows > self._window_rows or len(self._ahead) == _MOST_AHEAD):
                return
            self._following.read(self._readers)
            self._ahead.append(self._following)
            self._following = next(self._windows, None)
        # The threads end with what they still have to read.
        self._readers.shutdown(wait=False)


def reader_count() -> int:
    return min(core_count(), _MOST_READERS)


def _rows_of(size: int, source: Source) -> int:
    return max(1, size // max(1, source.row_bytes))


def _windows_from_first(source: Source, plan: RangePlan, seed: int | None) -> "Iterator[_Window]":
    epoch = plan.first // plan.rows
    skipped = plan.own_rows_before(plan.first) - plan.own_rows_before(epoch * plan.rows)
    for window in _all_windows(source, plan, seed, epoch):
        passed = min(skipped, window.left)
        window.taken += passed
        skipped -= passed
        if window.left > 0:
            yield window


def _all_windows(
    source: Source, plan: RangePlan, seed: int | None, epoch: int
) -> "Iterator[_Window]":
    rows = _rows_of(WINDOW_BYTES // (_MOST_AHEAD if seed is None else 1), source)
    while plan.examples is None or epoch * plan.rows < plan.first + plan.examples:
        parts, order = _parts(source.blocks, *plan.range_of(epoch)), None
        if seed is not None:
            order = random_generator(seed, epoch, plan.shard.pipeline)
            parts = [parts[index] for index in order.permutation(len(parts))]
        groups = _group(parts, rows)
        for number, group in enumerate(groups, start=1):
            yield _Window(source, group, order, number == len(groups))
        epoch += 1


def _parts(blocks: Sequence[Block], first: int, last: int) -> list[_Part]:
    starts = accumulate((block.rows for block in blocks[:-1]), initial=0)
    found = [
        _Part(block, max(0, first - start), min(block.rows, last - start))
        for block, start in zip(blocks, starts, strict=True)
    ]
    return [part for part in found if part.rows > 0]


def _group(parts: Sequence[_Part], rows: int) -> list[list[_Part]]:
    groups: list[list[_Part]] = []
    filled = rows
    for part in parts:
        if filled + part.rows > rows:
            groups.append([])
            filled = 0
        groups[-1].append(part)
        filled += part.rows
    return groups


class _Window:
    def __init__(
        self,
        source: Source,
        parts: list[_Part],
        order: np.random.Generator | None,
        ends_epoch: bool,
    ) -> None:
        self.ends_epoch = ends_epoch
        self.rows = sum(part.rows for part in parts)
        self._source = source
        self._parts = parts
        self.taken = 0
        self._matrices: Matrices = ()
        self._reading: list[Future[None]] = []
        self._places: npt.NDArray[np.int32 | np.int64] | None = None
        if order is not None:
            dtype = np.int32 if self.rows <= np.iinfo(np.int32).max else np.int64
            self._places = np.arange(self.rows, dtype=dtype)
            order.shuffle(self._places)

    @property
    def left(self) -> int:
        return self.rows - self.taken

    def read(self, readers: ThreadPoolExecutor) -> None:
        self._matrices = self._source.layout.empty(self.rows, self._source.memory.lend)
        first = 0
        for part in self._parts:
            self._reading.append(readers.submit(self._read, part, first))
            first += part.rows

    def wait(self) -> None:
        # The first of several errors is the same in every run.
        for each in self._reading:
            each.result()
        self._reading, self._places = [], None

    def take(self, rows: int) -> Matrices:
        chosen = slice(self.taken, self.taken + rows)
        self.taken += rows
        return tuple(matrix[chosen] for matrix in self._matrices)

    def _read(self, part: _Part, first: int) -> None:
        for piece in self._source.read(part.block, part.start, part.stop):
            chosen = slice(first, first + len(piece[0]))
            places = chosen if self._places is None else self._places[chosen]
            for whole, rows in zip(self._matrices, piece, strict=True):
                _put(whole, places, rows)
            first = chosen.stop


def _put(whole: npt.NDArray[Any], places: Any, rows: npt.NDArray[Any]) -> None:
    if isinstance(places, slice) or whole.dtype.hasobject:
        whole[places] = rows
    else:
        # NumPy moves rows several times as fast if each is one value.
        row = np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))
        whole.view(row)[places] = np.ascontiguousarray(rows).view(row)
