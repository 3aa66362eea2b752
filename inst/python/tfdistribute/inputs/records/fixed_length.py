"""Binary files of fixed-length records: one per row, numbers in little-endian order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import TYPES_OF_DTYPES, ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.files.blocks import Block, Source, cut_blocks
from tfdistribute.inputs.files.file_input import FileInput
from tfdistribute.inputs.files.files import File, find_files, read_bytes
from tfdistribute.inputs.packed.layout import Layout, Matrices
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.inputs.records.infinite_responses import (
    first_infinite,
    has_found,
    infinite_response,
    refuse_infinite,
)
from tfdistribute.inputs.records.record_columns import choose_columns, parse_column
from tfdistribute.inputs.records.shard_index import (
    IndexedColumn,
    ShardIndex,
    expand_shards,
    indexed_columns,
)
from tfdistribute.inputs.records.shard_writing import write_shards

_DTYPES = tuple(dtype for dtype, kind in TYPES_OF_DTYPES.items() if kind != "string")

# Rows written at once.
_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, eq=False)
class FixedLength(FileInput, kind="fixed_length"):
    """Records of fixed length.

    Args:
        columns: Columns of a record in order, for files without an index: dtypes by name, such as "uint8" or
            "float32[28, 28]". Empty to use the index.
    """

    columns: dict[str, str] = field(default_factory=dict[str, str])

    def _open(self) -> Source:
        return self._records

    @cached_property
    def _records(self) -> _Records:
        shards = expand_shards(self.paths, "fixed_length")
        files, index = find_files(shards.paths), shards.index
        if self.columns:
            columns = tuple(_column(name, dtype) for name, dtype in self.columns.items())
        elif index is not None:
            columns = index.columns
        else:
            raise InputError(
                f'There is no index beside "{files[0].path}", so `columns` is needed.',
                'List the columns of a record, for example columns = c(y = "int32", x = "float32[20]").',
                argument="columns",
            )
        chosen = choose_columns([each.facts for each in columns], self.features, self.response)
        records = _Records(files, columns, chosen)
        shards.check_rows(records)
        return records

    def _make_unpack(
        self, source: Source, label: str | None, dropped: str | None, packed: bool
    ) -> Callable[..., Any]:
        return refuse_infinite(super()._make_unpack(source, label, dropped, packed), label)

    def _explain(self, source: Source, error: Exception) -> Exception | None:
        if self.response is None or not has_found(error):
            return None
        return self._records.infinite(self.response)

    def _label_range(self, source: Source) -> tuple[float, float] | None:
        # Ranges may differ between indexes.
        if len(self.paths) > 1:
            return None
        return next(
            (each.range for each in self._records.columns if each.facts.name == self.response), None
        )


def _column(name: str, text: str) -> IndexedColumn:
    dtype, facts = parse_column(name, text, _DTYPES)
    return IndexedColumn(facts, dtype)


@dataclass(frozen=True)
class _Run:
    """Columns that are adjacent both in the record and in a matrix, and are copied together."""

    dtype: np.dtype[Any]
    offset: int
    matrix: int
    start: int
    width: int

    @property
    def end(self) -> int:
        return self.offset + self.width * self.dtype.itemsize

    def followed_by(self, other: _Run) -> bool:
        return (self.dtype, self.matrix, self.end, self.start + self.width) == (
            other.dtype,
            other.matrix,
            other.offset,
            other.start,
        )


class _Records:
    """Source of rows in fixed-length records."""

    def __init__(
        self,
        files: tuple[File, ...],
        columns: tuple[IndexedColumn, ...],
        chosen: Sequence[ColumnFacts],
    ) -> None:
        self.files = files
        self.columns = columns
        tables: dict[str, npt.NDArray[np.object_]] = {
            each.facts.name: np.array(each.labels, dtype=object)
            for each in columns
            if each.labels is not None and each.facts in chosen
        }
        self.layout: Layout = Layout.of(chosen, tables)
        self.row_bytes = self.layout.row_bytes
        self._record_bytes, self._runs = self._find_runs()
        self.blocks: Sequence[Block] = [
            block
            for number, file in enumerate(files)
            for block in cut_blocks(number, self._rows(file), self.row_bytes)
        ]

    def _find_runs(self) -> tuple[int, list[_Run]]:
        offset, runs = 0, list[_Run]()
        for column in self.columns:
            dtype = np.dtype(column.dtype).newbyteorder("<")
            count = column.facts.width
            slot = self.layout.slots.get(column.facts.name)
            if slot is not None:
                run = _Run(dtype, offset, slot.matrix, slot.start, count)
                if runs and runs[-1].followed_by(run):
                    last = runs.pop()
                    run = _Run(dtype, last.offset, last.matrix, last.start, last.width + count)
                runs.append(run)
            offset += count * dtype.itemsize
        return offset, runs

    def _rows(self, file: File) -> int:
        rows, rest = divmod(file.size, self._record_bytes)
        if rest:
            raise InputError(
                f'The file "{file.path}" has {file.size} bytes, which is not a multiple of the '
                f"{self._record_bytes} bytes of a record: record {rows + 1} is cut off.",
                "Correct `columns`, or write the file again.",
                argument="paths",
                value=file.path,
            )
        return rows

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        rows, record = stop - start, self._record_bytes
        offset = (block.first + start) * record
        content = read_bytes(self.files[block.file].path, offset, rows * record)
        records = np.frombuffer(content, np.uint8).reshape(rows, record)
        first = self._runs[0]
        if (
            len(self._runs) == 1
            and first.end - first.offset == record
            and first.dtype == self.layout.dtypes[0]
        ):
            matrices: Matrices = (cast(Any, records.view(first.dtype)),)
        else:
            matrices = self._converted(block, start, records)
        self._check_codes(block, start, matrices)
        yield matrices

    def infinite(self, name: str) -> InputError | None:
        """Find the first record in which a column is infinite."""
        for block in self.blocks:
            for matrices in self.read(block, 0, block.rows):
                row = first_infinite(self.layout.slots[name].of(matrices))
                if row is not None:
                    path = self.files[block.file].path
                    return infinite_response(name, path, block.first + row + 1)
        return None

    def _converted(self, block: Block, start: int, records: npt.NDArray[np.uint8]) -> Matrices:
        matrices = self.layout.empty(len(records))
        for run in self._runs:
            values = records[:, run.offset : run.end].view(run.dtype)
            try:
                with np.errstate(over="raise"):
                    matrices[run.matrix][:, run.start : run.start + run.width] = values
            except FloatingPointError:
                with np.errstate(over="ignore"):
                    beyond = np.isinf(values.astype(np.float32)) & np.isfinite(values)
                row = block.first + start + int(beyond.any(axis=1).argmax())
                raise self._refusal(
                    block, row, "a number beyond 3.4e38, the largest 32-bit number"
                ) from None
        return matrices

    def _check_codes(self, block: Block, start: int, matrices: Matrices) -> None:
        for name, table in self.layout.tables.items():
            codes = self.layout.slots[name].of(matrices)
            unknown = (codes < 0) | (codes >= len(table))
            if unknown.any():
                row = block.first + start + int(unknown.any(axis=1).argmax())
                raise self._refusal(block, row, f"a label of `{name}` that its index does not have")

    def _refusal(self, block: Block, row: int, problem: str) -> InputError:
        path = self.files[block.file].path
        return InputError(
            f'Record {row + 1} of "{path}" has {problem}.',
            "Correct `columns`, or write the file again.",
            argument="paths",
            value=path,
        )


def write_fixed_length(
    packed: PackedColumns, directory: str, shards: int, listener: Any = None
) -> ShardIndex:
    """Write packed data into files of fixed-length records.

    Args:
        packed: The data.
        directory: Where to write; created if missing.
        shards: Number of files.
        listener: Called for each finished file; see ``write_shards``.

    Returns:
        The index.

    Raises:
        ArgumentError: the directory holds other files or is not writable.
    """

    def write(path: str, first: int, last: int) -> None:
        with open(path, "wb") as file:
            for start in range(first, last, _ROWS_AT_ONCE):
                rows = slice(start, min(start + _ROWS_AT_ONCE, last))
                parts = [_little_endian_bytes(matrix[rows]) for matrix in packed.matrices]
                file.write(np.concatenate(parts, axis=1).tobytes())

    index = ShardIndex("fixed_length", indexed_columns(packed), {})
    return write_shards(packed, directory, shards, index, write, listener)


def _little_endian_bytes(matrix: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    ordered = np.ascontiguousarray(matrix, matrix.dtype.newbyteorder("<"))
    return ordered.view(np.uint8).reshape(len(matrix), -1)
