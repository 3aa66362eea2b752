"""Rows of Arrow tables that cannot be used, and the others without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import ColumnFacts
from tfdistribute.inputs.files.blocks import Block
from tfdistribute.inputs.files.files import File
from tfdistribute.inputs.tables.arrow_columns import TableColumns, arrow_type_of, values_of
from tfdistribute.inputs.tables.pyarrow_import import arrow_module

# Places of skipped rows that are told.
SHOWN = 5

_LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True)
class Skipped:
    """What was left out.

    Args:
        count: How many rows.
        places: Where and why, of the first of them.
    """

    count: int
    places: Sequence[str]


def usable_batches(batches: Iterable[Any], columns: TableColumns) -> Iterator[Any]:
    """Leave rows out that cannot be used.

    Args:
        batches: ``pyarrow.RecordBatch``es with at least these columns.
        columns: What is taken from them.

    Yields:
        Record batches with the columns' types, also empty ones.
    """
    for batch in batches:
        yield _judged(batch, columns)[0]


def batches_between(batches: Iterable[Any], start: int, stop: int) -> Iterator[Any]:
    """Take some of the rows of record batches.

    Args:
        batches: The record batches.
        start: The first row.
        stop: The one after the last.

    Yields:
        Record batches of these rows.
    """
    first = 0
    for batch in batches:
        last = first + batch.num_rows
        if last > start:
            after = min(stop, last)
            yield batch.slice(max(start - first, 0), after - max(start, first))
        if last >= stop:
            return
        first = last


def usable_blocks(
    blocks: Mapping[Block, Any],
    batches: Callable[[Block], Iterable[Any]],
    columns: TableColumns,
    files: Sequence[File],
) -> tuple[dict[Block, Any], Skipped]:
    """Count the usable rows of blocks, in one pass over the files.

    Args:
        blocks: Blocks of all rows, with anything.
        batches: Reads the record batches of a block.
        columns: What is taken from them.
        files: The files that the blocks belong to.

    Returns:
        Blocks of the usable rows, with the same; and what is left out.
    """
    usable: dict[Block, Any] = {}
    count, places = 0, list[str]()
    for block, where in blocks.items():
        kept, row = 0, block.first
        for batch in batches(block):
            left, reasons = _judged(batch, columns)
            kept += left.num_rows
            count += len(reasons)
            for bad, reason in list(reasons.items())[: SHOWN - len(places)]:
                places.append(f'row {row + bad + 1} of "{files[block.file].path}" ({reason})')
            row += batch.num_rows
        if kept:
            usable[replace(block, rows=kept)] = where
    return usable, Skipped(count, places)


def _judged(batch: Any, columns: TableColumns) -> tuple[Any, dict[int, str]]:
    """The usable rows, and why each of the others is not."""
    pyarrow = arrow_module("pyarrow")
    reasons: dict[int, str] = {}
    taken: dict[str, Any] = {}
    for name, place in columns.layout.places.items():
        column = pyarrow.chunked_array([batch.column(name)])
        column, unfit = _typed(column, place.facts)
        taken[name] = column.combine_chunks()
        values, missing = values_of(column, place.facts)
        empty = np.zeros(len(unfit), bool) if missing is None else missing & ~unfit
        empty &= name not in columns.fillings
        for bad, reason in (
            (unfit | _too_large(values, unfit | empty), f"no value of its type in `{name}`"),
            (empty, f"no value in `{name}`"),
            (_infinite(values) if name == columns.response else empty, f"`{name}` is infinite"),
        ):
            for row in np.flatnonzero(bad).tolist():
                reasons.setdefault(row, reason)
    keep = np.ones(batch.num_rows, bool)
    keep[list(reasons)] = False
    rows = pyarrow.RecordBatch.from_arrays(list(taken.values()), names=list(taken))
    return rows.filter(pyarrow.array(keep)), dict(sorted(reasons.items()))


def _typed(column: Any, facts: ColumnFacts) -> tuple[Any, npt.NDArray[np.bool_]]:
    """The column with a null in the place of what has another type."""
    pyarrow = arrow_module("pyarrow")
    fits = np.zeros(len(column), bool)
    try:
        values_of(column, facts)
        return column, fits
    except pyarrow.ArrowException:
        pass
    wanted = arrow_type_of(facts.type)
    cast: list[Any] = []
    for value in column:
        try:
            cast.append(value.cast(wanted).as_py())
        except pyarrow.ArrowException:
            cast.append(None)
    typed = pyarrow.chunked_array([pyarrow.array(cast, wanted)])
    return typed, typed.is_null().to_numpy() & ~column.is_null().to_numpy()


def _too_large(values: npt.NDArray[Any], known: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    if values.dtype != np.float64:
        return np.zeros(len(known), bool)
    rows = values.reshape(len(known), -1)
    return (np.isfinite(rows) & (np.abs(rows) > _LARGEST)).any(axis=1) & ~known


def _infinite(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind != "f":
        return np.zeros(len(values), bool)
    return np.isinf(values.reshape(len(values), -1)).any(axis=1)
