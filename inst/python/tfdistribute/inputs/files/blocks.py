"""Block-wise reading of files, in order or shuffled, with bounded memory.

A source offers blocks of about a megabyte. To shuffle, the blocks of an epoch are put into random order and grouped
into windows of ``WINDOW_BYTES``, and the rows of each window are shuffled. This guarantees:

- a pipeline's range of up to ``WINDOW_BYTES`` is shuffled completely, with every order equally likely;
- in a larger range a row can be anywhere in the epoch, next to rows of any other blocks, but the rows of one
  block share a window, with less than ``WINDOW_BYTES`` of rows between them;
- a block larger than ``WINDOW_BYTES``, such as a large row group, is a window of its own;
- no row leaves its pipeline's range.

Two windows are in memory, however large the files are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tfdistribute.inputs.files.files import File, check_unchanged
from tfdistribute.inputs.packed.layout import Layout, Matrices
from tfdistribute.sharding import RangePlan, random_generator

BLOCK_BYTES = 2**20
# Two windows are in memory: the current one and the next.
WINDOW_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Block:
    file: int  # Index.
    first: int
    rows: int


class Source(Protocol):
    @property
    def files(self) -> tuple[File, ...]: ...

    @property
    def layout(self) -> Layout: ...

    @property
    def row_bytes(self) -> int: ...

    @property
    def blocks(self) -> Sequence[Block]: ...

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        """Read part of a block, by rows relative to it; may be called on any thread.

        Yields pieces if the block is much larger than ``BLOCK_BYTES``: one array of shape [rows, columns] per matrix of
        the layout. InputError names the file and the position.
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
        self._source = source
        self._plan = plan
        self._seed = seed
        self._starts = np.cumsum([0] + [block.rows for block in source.blocks])
        self._windows = self._windows_from_first()
        self._current: _Window | None = None
        self._next = next(self._windows, None)

    def take(self, rows: int) -> Matrices:
        """Return the next rows, at most as many as are left; InputError if a file cannot be read, or has changed."""
        pieces: list[Matrices] = []
        while rows > 0:
            if self._current is None or self._current.left == 0:
                self._advance()
                continue
            pieces.append(self._current.take(min(rows, self._current.left)))
            rows -= len(pieces[-1][0])
            if self._next is not None:
                # Read in small amounts, so that no batch waits for a whole window.
                self._next.read_ahead(self._current.done)
        if len(pieces) == 1:
            return pieces[0]
        return tuple(np.concatenate(matrices) for matrices in zip(*pieces, strict=True))

    def finish(self) -> None:
        check_unchanged(self._source.files)

    def _advance(self) -> None:
        if self._current is not None and self._current.ends_epoch:
            self.finish()
        assert self._next is not None
        self._current, self._next = self._next, None
        self._current.read_ahead(1.0)
        self._next = next(self._windows, None)

    def _windows_from_first(self) -> Iterator[_Window]:
        plan = self._plan
        epoch = plan.first // plan.rows
        skipped = plan.own_rows_before(plan.first) - plan.own_rows_before(epoch * plan.rows)
        for window in self._all_windows(epoch):
            passed = min(skipped, window.left)
            window.skip(passed)
            skipped -= passed
            if window.left > 0:
                yield window

    def _all_windows(self, epoch: int) -> Iterator[_Window]:
        examples = self._plan.examples
        while examples is None or epoch * self._plan.rows < self._plan.first + examples:
            parts = self._parts(*self._plan.range_of(epoch))
            order = None
            if self._seed is not None:
                order = random_generator(self._seed, epoch, self._plan.shard.pipeline)
                parts = [parts[index] for index in order.permutation(len(parts))]
            rows = max(1, WINDOW_BYTES // max(1, self._source.row_bytes))
            groups = _group(parts, 1 if order is None else rows)
            for number, group in enumerate(groups, start=1):
                yield _Window(self._source, group, order, number == len(groups))
            epoch += 1

    def _parts(self, first: int, last: int) -> list[_Part]:
        if first == last:
            return []
        blocks, starts = self._source.blocks, self._starts
        parts: list[_Part] = []
        index = int(np.searchsorted(starts, first, side="right")) - 1
        while index < len(blocks) and starts[index] < last:
            start = max(0, first - int(starts[index]))
            stop = min(blocks[index].rows, last - int(starts[index]))
            if stop > start:
                parts.append(_Part(blocks[index], start, stop))
            index += 1
        return parts


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
        self._source = source
        self._pieces = (
            piece for part in parts for piece in source.read(part.block, part.start, part.stop)
        )
        self._rows = sum(part.rows for part in parts)
        self._read = 0
        self._taken = 0
        self._matrices: Matrices = ()
        self._order = None if order is None else order.permutation(self._rows)

    @property
    def left(self) -> int:
        return self._rows - self._taken

    @property
    def done(self) -> float:
        return self._taken / self._rows

    def skip(self, rows: int) -> None:
        self._taken += rows

    def read_ahead(self, share: float) -> None:
        while self._read < self._rows and self._read < share * self._rows:
            matrices = next(self._pieces)
            rows = len(matrices[0])
            if rows == self._rows:
                self._matrices = matrices
            else:
                if not self._matrices:
                    self._matrices = self._source.layout.empty(self._rows)
                for whole, read in zip(self._matrices, matrices, strict=True):
                    whole[self._read : self._read + rows] = read
            self._read += rows

    def take(self, rows: int) -> Matrices:
        chosen: Any = slice(self._taken, self._taken + rows)
        self._taken += rows
        if self._order is None:
            return tuple(matrix[chosen] for matrix in self._matrices)
        return tuple(np.take(matrix, self._order[chosen], axis=0) for matrix in self._matrices)
