"""Randomness of an epoch's order, and limits of the block shuffle."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tfdistribute.columns import ColumnFacts
from tfdistribute.inputs.files import blocks
from tfdistribute.inputs.files.blocks import Block, RowStream, WindowMemory
from tfdistribute.inputs.files.files import File
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.sharding import RangePlan, RowOrder

ROWS = 20_000
BLOCK_ROWS = 100

Order = npt.NDArray[np.int64]


class Numbers:
    """Rows that hold their own number, in blocks of 100."""

    files: tuple[File, ...] = ()
    layout = Layout.of([ColumnFacts("row", "integer")])
    memory = WindowMemory()
    row_bytes = 4
    block_rows = 2**18

    def __init__(self) -> None:
        size = self.block_rows
        self.blocks = [Block(0, first, min(size, ROWS - first)) for first in range(0, ROWS, size)]

    def read(self, block: Block, start: int, stop: int) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        yield (np.arange(block.first + start, block.first + stop, dtype=np.int32)[:, np.newaxis],)


def in_memory(seed: int, epochs: int = 1) -> list[Order]:
    order = RowOrder(ROWS, seed)
    return [order.at(np.arange(ROWS) + epoch * ROWS).astype(np.int64) for epoch in range(epochs)]


def by_blocks(seed: int, epochs: int = 1) -> list[Order]:
    stream = RowStream(Numbers(), RangePlan(ROWS, epochs, 1), seed)
    return [stream.take(ROWS)[0][:, 0].astype(np.int64) for _ in range(epochs)]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Numbers, "block_rows", BLOCK_ROWS)


def correlation(one: Order, other: Order) -> float:
    """Pearson's correlation, in standard deviations under random orders."""
    return float(np.corrcoef(one, other)[0, 1] * np.sqrt(len(one)))


def runs_deviation(order: Order) -> float:
    """Wald-Wolfowitz test: how often an order switches between the lower and the upper half of the rows."""
    upper = order >= ROWS // 2
    runs = 1 + int((upper[1:] != upper[:-1]).sum())
    half = ROWS / 2
    expected, variance = 1 + half, half * (half - 1) / (2 * half - 1)
    return (runs - expected) / np.sqrt(variance)


def evenness(order: Order) -> float:
    """Chi-square test, in standard deviations: how evenly each twentieth of the rows spreads over the epoch."""
    cells = np.bincount((np.arange(ROWS) * 20 // ROWS) * 20 + order * 20 // ROWS, minlength=400)
    expected, freedom = ROWS / 400, 19 * 19
    return float((((cells - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


def test_batches_over_thousands_of_epochs_cost_as_much_per_epoch_as_over_few():
    """A batch of a table of 8 rows may be larger than the table."""

    def seconds(epochs: int) -> float:
        order = RowOrder(8, 1)
        positions = np.arange(8 * epochs).reshape(-1, 40)
        started = time.process_time()
        found = order.at(positions)
        taken = time.process_time() - started
        each = [RowOrder(8, 1).at(np.arange(8 * e, 8 * e + 8)) for e in (0, epochs // 2)]
        assert found.shape == positions.shape
        assert found.reshape(-1, 8)[[0, epochs // 2]].tolist() == [one.tolist() for one in each]
        return taken / epochs

    few = min(seconds(500) for _ in range(3))
    assert seconds(50_000) < 4 * few


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("orders", [in_memory, by_blocks])
@pytest.mark.parametrize("seed", [0, 1, -7])
def test_a_complete_shuffle_passes_tests_of_randomness(orders: Any, seed: int):
    """Under a random order each figure is standard normal, and exceeds 5 once in a million times."""
    first, second = orders(seed, 2)
    other = orders(seed + 1)[0]
    for order in (first, second, other):
        assert np.array_equal(np.sort(order), np.arange(ROWS))
    for figure in (
        correlation(first, np.arange(ROWS)),
        correlation(first[:-1], first[1:]),
        runs_deviation(first),
        evenness(first),
        correlation(first, second),
        correlation(first, other),
    ):
        assert abs(figure) < 5


def test_the_tests_of_randomness_detect_orders_that_are_not_random():
    """Rows mixed only with their neighbours, as by a small shuffle buffer."""
    nearby = np.concatenate(
        [np.random.default_rng(first).permutation(1000) + first for first in range(0, ROWS, 1000)]
    )
    assert correlation(nearby, np.arange(ROWS)) > 5
    assert correlation(nearby[:-1], nearby[1:]) > 5
    assert runs_deviation(nearby) < -5
    assert evenness(nearby) > 5


@pytest.mark.usefixtures("small_blocks")
def test_rows_move_beyond_the_window_and_blocks_within_it(
    monkeypatch: pytest.MonkeyPatch,
):
    """Twenty windows of ten blocks."""
    window = 10 * BLOCK_ROWS
    monkeypatch.setattr(blocks, "WINDOW_BYTES", window * Numbers.row_bytes)
    for order in by_blocks(3, epochs=2):
        assert np.array_equal(np.sort(order), np.arange(ROWS))
        positions = np.argsort(order).reshape(-1, BLOCK_ROWS)
        assert np.ptp(positions, axis=1).max() < window
        # A block's rows are mixed with those of nine others, so they do not stay together.
        assert np.median(np.ptp(positions, axis=1)) > 0.9 * window
        assert abs(correlation(order, np.arange(ROWS))) < 5 * np.sqrt(BLOCK_ROWS)
    windows = [int(np.argmax(by_blocks(seed)[0] == 0)) // window for seed in range(60)]
    # 60 draws from 20 windows give 19 distinct ones on average; 12 or fewer practically never occur.
    assert len(set(windows)) > 12


class Slow(Numbers):
    """Blocks that take turns in being late."""

    def read(self, block: Block, start: int, stop: int) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        time.sleep(0.003 * (block.first // BLOCK_ROWS % 3))
        yield from super().read(block, start, stop)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", [None, 5])
def test_the_order_of_rows_does_not_depend_on_the_number_of_threads_and_continues_in_an_epoch(
    monkeypatch: pytest.MonkeyPatch, seed: int | None
):
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 10 * BLOCK_ROWS * Numbers.row_bytes)

    def order(threads: int, first: int = 0) -> list[int]:
        monkeypatch.setattr(blocks, "reader_count", lambda: threads)
        stream = RowStream(Slow(), RangePlan(ROWS, 2, 1, first=first), seed)
        left = 2 * ROWS
        sizes = [700] * (left // 700) + [left % 700]
        return np.concatenate([stream.take(rows)[0][:, 0] for rows in sizes]).tolist()

    whole = order(1)
    assert order(4) == whole
    for first in (1, 7_003, ROWS + 12_345):
        assert order(3, first)[: 2 * ROWS - first] == whole[first:]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", [None, 5])
def test_several_blocks_are_read_at_a_time_and_no_more_than_fit_into_two_windows(
    monkeypatch: pytest.MonkeyPatch, seed: int | None
):
    window = 20 * BLOCK_ROWS
    monkeypatch.setattr(blocks, "WINDOW_BYTES", window * Numbers.row_bytes)
    monkeypatch.setattr(blocks, "reader_count", lambda: 4)
    # The first four blocks have to be read at a time, or this raises an error.
    together, started = threading.Barrier(4, timeout=30), itertools.count()
    read: list[int] = []

    class Counted(Numbers):
        def read(
            self, block: Block, start: int, stop: int
        ) -> Iterator[tuple[npt.NDArray[Any], ...]]:
            if next(started) < 4:
                together.wait()
            read.append(stop - start)
            yield from super().read(block, start, stop)

    stream = RowStream(Counted(), RangePlan(ROWS, 1, 1), seed)
    for taken in range(100, ROWS + 1, 100):
        stream.take(100)
        if taken % 1000 == 0:
            time.sleep(0.01)
            assert sum(read) <= taken + 2 * window
    assert sum(read) == ROWS


@pytest.mark.usefixtures("small_blocks")
def test_a_stream_that_is_dropped_stops_reading(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "reader_count", lambda: 2)
    read: list[int] = []

    class Endless(Numbers):
        def read(
            self, block: Block, start: int, stop: int
        ) -> Iterator[tuple[npt.NDArray[Any], ...]]:
            read.append(block.first)
            time.sleep(0.02)
            yield from super().read(block, start, stop)

    # Graphs of other tests may keep streams.
    others = set(threading.enumerate())
    stream = RowStream(Endless(), RangePlan(ROWS, None, 1), 1)
    readers = set(threading.enumerate()) - others
    assert any(each.name.startswith("tfdistribute-reader") for each in readers)
    del stream
    assert not any(each.is_alive() for each in readers)
    assert len(read) < 8 * ROWS // BLOCK_ROWS
