"""Writing of packed columns as Arrow files, uncompressed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.inputs.packed.layout import ColumnSlot
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.inputs.shards.shard_index import ShardIndex
from tfdistribute.inputs.shards.shard_writing import write_shards
from tfdistribute.inputs.tables.arrow_columns import BATCH_BYTES, LONGEST_DICTIONARY
from tfdistribute.inputs.tables.pyarrow_import import arrow_module


def write_arrow(
    packed: PackedColumns, directory: str, shards: int, listener: Any = None
) -> ShardIndex:
    """Write packed data into Arrow files, as ``write_shards`` does.

    Strings become dictionaries, arrays become fixed-size lists, and date-times are rounded to microseconds.
    """
    pyarrow, ipc = arrow_module("pyarrow"), arrow_module("pyarrow.ipc")
    slots, tables = packed.layout.slots, packed.layout.tables
    labels = {name: pyarrow.array(table, pyarrow.string()) for name, table in tables.items()}
    at_once = max(1, BATCH_BYTES // max(1, packed.layout.row_bytes))
    types = {name: _written_type(slot, packed) for name, slot in slots.items()}

    def batch(first: int, last: int) -> Any:
        columns: list[Any] = []
        for name, slot in slots.items():
            values = np.ascontiguousarray(slot.of(packed.matrices)[first:last]).reshape(-1)
            column = _array(values, types[name], labels.get(name), slot.facts.shape == ())
            if slot.facts.shape:
                column = pyarrow.FixedSizeListArray.from_arrays(column, slot.facts.width)
            columns.append(column)
        return pyarrow.record_batch(columns, names=list(slots))

    def write(path: str, first: int, last: int) -> None:
        with ipc.new_file(path, batch(0, 0).schema) as file:
            for start in range(first, last, at_once):
                file.write_batch(batch(start, min(start + at_once, last)))

    return write_shards(packed, directory, shards, "arrow", write, listener)


def _written_type(slot: ColumnSlot, packed: PackedColumns) -> str:
    # R's dates may have parts of days, which Arrow's cannot hold.
    if slot.facts.type == "date" and np.any(slot.of(packed.matrices) % 1 != 0):
        return "float"
    return slot.facts.type


def _array(values: npt.NDArray[Any], column_type: str, labels: Any, as_codes: bool) -> Any:
    pyarrow = arrow_module("pyarrow")
    if labels is not None:
        if as_codes and len(labels) <= LONGEST_DICTIONARY:
            return pyarrow.DictionaryArray.from_arrays(values, labels)
        return labels.take(pyarrow.array(values))
    if column_type == "logical":
        return pyarrow.array(values.astype(bool))
    if column_type == "date":
        return pyarrow.array(values.astype(np.int32)).cast(pyarrow.date32())
    if column_type == "datetime":
        infinite = ~np.isfinite(values)
        microseconds = np.round(np.where(infinite, 0, values) * 1e6).astype(np.int64)
        return pyarrow.array(microseconds, mask=infinite).cast(pyarrow.timestamp("us", "UTC"))
    return pyarrow.array(values)
