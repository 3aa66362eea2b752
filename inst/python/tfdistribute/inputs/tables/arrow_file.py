"""Arrow files (IPC, Feather 2), read by record batch, and written uncompressed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.inputs.files.blocks import Block, Source
from tfdistribute.inputs.files.files import File, find_files
from tfdistribute.inputs.packed.layout import ColumnSlot, Tables
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.inputs.shards import ShardIndex, Shards, expand_shards, write_shards
from tfdistribute.inputs.tables.arrow_columns import BATCH_BYTES, LONGEST_DICTIONARY
from tfdistribute.inputs.tables.arrow_files import (
    arrow_module,
    explain_arrow_errors,
    open_for_arrow,
)
from tfdistribute.inputs.tables.table_files import TableFiles, number_blocks
from tfdistribute.inputs.tables.table_input import TableInput

_KIND = "an Arrow file"
_REMEDY = "Write it in Arrow's file format (Feather 2), not as a stream."


@dataclass(frozen=True, eq=False)
class Arrow(TableInput, kind="arrow"):
    """Tables in Arrow's file format, with or without an index of ``write_arrow``.

    Each record batch is a block, so the largest one determines memory use.

    Args:
        paths: Paths, strings: the directory that [write_arrow()] wrote, files, or patterns such as
            `"data/part-*.arrow"`. The paths are on this machine or in a bucket, such as `"s3://bucket/data"`; see
            `vignette("model-dir-in-the-cloud")`. A directory without an index stands for its files in the order of
            their names, without files that begin with `.` or `_`.
    """

    def _open(self) -> Source:
        shards = self._shards
        files = find_files(shards.paths, directories=True)
        scans = [_scan(file) for file in files]
        schemas = tuple(scan.schema for scan in scans)
        columns = self._choose_columns(files, schemas, shards.facts, _common_tables(scans))
        positions = number_blocks(scan.rows for scan in scans)
        found = _ArrowFiles(files, columns, positions, schemas=schemas)
        shards.check_rows(found)
        return self._without_bad_rows(found)

    @cached_property
    def _shards(self) -> Shards:
        return expand_shards(self.paths, "arrow")

    def _label_range(self, source: Source) -> tuple[float, float] | None:
        # Ranges may differ between indexes.
        index = self._shards.index if len(self.paths) == 1 else None
        columns = index.columns if index else ()
        return next((each.range for each in columns if each.facts.name == self.response), None)


@dataclass(frozen=True)
class _Scan:
    schema: Any
    rows: list[int]
    tables: Tables


def _scan(file: File) -> _Scan:
    ipc = arrow_module("pyarrow.ipc")
    with explain_arrow_errors(file, _KIND, _REMEDY), open_for_arrow(file, mapped=True) as opened:
        reader = ipc.open_file(opened)
        if reader.num_record_batches == 0:
            return _Scan(reader.schema, [], {})
        schema, first = reader.schema, reader.get_batch(0)
        if not _is_in_place(first, opened):
            # Read one column, which is enough to count the rows.
            opened.seek(0)
            reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=[0]))
        rows = [reader.get_batch(index).num_rows for index in range(reader.num_record_batches)]
        return _Scan(schema, rows, dict(_tables(first)))


def _is_in_place(batch: Any, opened: Any) -> bool:
    """Return whether a record batch lies in a mapped file, so that getting it reads nothing."""
    if not isinstance(opened, arrow_module("pyarrow").MemoryMappedFile):
        return False
    opened.seek(0)
    content = opened.read_buffer()
    buffers = (each for column in batch.columns for each in column.buffers() if each is not None)
    return all(0 <= each.address - content.address <= content.size for each in buffers if each.size)


def _tables(batch: Any) -> Iterator[tuple[str, npt.NDArray[np.object_]]]:
    pyarrow = arrow_module("pyarrow")
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not pyarrow.types.is_dictionary(column.type):
            continue
        labels = column.dictionary
        labels.validate(full=True)
        is_text = labels.type in (pyarrow.string(), pyarrow.large_string())
        if is_text and not labels.null_count and len(labels) <= LONGEST_DICTIONARY:
            yield name, labels.to_numpy(zero_copy_only=False)


def _common_tables(scans: list[_Scan]) -> Tables:
    first, *others = [scan.tables for scan in scans if scan.rows] or [{}]
    return {
        name: table
        for name, table in first.items()
        if all(name in other and np.array_equal(other[name], table) for other in others)
    }


@dataclass(frozen=True, kw_only=True)
class _ArrowFiles(TableFiles):
    schemas: tuple[Any, ...]

    @cached_property
    def _options(self) -> list[Any]:
        options, names = arrow_module("pyarrow.ipc").IpcReadOptions, self.columns.names
        fields = [sorted(map(each.get_field_index, names)) for each in self.schemas]
        return [options(included_fields=each) for each in fields]

    def batches(self, block: Block) -> Iterator[Any]:
        file, ipc = self.files[block.file], arrow_module("pyarrow.ipc")
        with explain_arrow_errors(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
            reader = ipc.open_file(opened, options=self._options[block.file])
            yield reader.get_batch(self.positions[block])


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
