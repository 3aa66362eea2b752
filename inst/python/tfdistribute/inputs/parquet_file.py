"""Parquet files, by row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute.inputs.arrow_columns import PIECE_BYTES, TableColumns, column_facts
from tfdistribute.inputs.arrow_library import arrow_module, open_for_arrow, reading
from tfdistribute.inputs.blocks import Block, Matrices, Source
from tfdistribute.inputs.files import File, find_files
from tfdistribute.inputs.layout import Layout
from tfdistribute.inputs.table_input import TableInput

_KIND = "a Parquet file"
_REMEDY = "Write the file again, or leave it out."


@dataclass(frozen=True, eq=False)
class Parquet(TableInput, kind="parquet"):
    """Tables in Parquet files. A row group is a block: what is in memory grows with the largest one."""

    def _open(self) -> Source:
        files = find_files(self.paths)
        metadata = [_metadata(file) for file in files]
        offered = [
            (
                file,
                {
                    field.name: column_facts(field.name, field.type)
                    for field in each.schema.to_arrow_schema()
                },
            )
            for file, each in zip(files, metadata, strict=True)
        ]
        blocks = {
            block: group
            for number, each in enumerate(metadata)
            for group, block in _blocks(number, each)
        }
        return _ParquetFiles(files, tuple(metadata), self._chosen(offered), blocks)


def _metadata(file: File) -> Any:
    parquet = arrow_module("pyarrow.parquet")
    with reading(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
        return parquet.read_metadata(opened)


def _blocks(number: int, metadata: Any) -> list[tuple[int, Block]]:
    blocks: list[tuple[int, Block]] = []
    first = 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if rows:
            blocks.append((group, Block(number, first, rows)))
        first += rows
    return blocks


@dataclass(frozen=True)
class _ParquetFiles:
    files: tuple[File, ...]
    metadata: tuple[Any, ...]
    columns: TableColumns
    groups: dict[Block, int]

    @property
    def layout(self) -> Layout:
        return self.columns.layout

    @property
    def row_bytes(self) -> int:
        return self.columns.row_bytes

    @property
    def blocks(self) -> Sequence[Block]:
        return list(self.groups)

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        file, parquet = self.files[block.file], arrow_module("pyarrow.parquet")
        with reading(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
            # Opened each time: a ParquetFile may not be used by several threads.
            reader = parquet.ParquetFile(opened, metadata=self.metadata[block.file])
            batches = reader.iter_batches(
                max(1, PIECE_BYTES // max(1, self.row_bytes)),
                [self.groups[block]],
                columns=self.columns.names,
            )
            wanted = _between(batches, start, stop)
            yield from self.columns.pieces(wanted, file.path, block.first + start)


def _between(batches: Iterator[Any], start: int, stop: int) -> Iterator[Any]:
    """Rows from ``start`` to before ``stop``."""
    first = 0
    for batch in batches:
        last = first + batch.num_rows
        if last > start:
            after = min(stop, last)
            yield batch.slice(max(start - first, 0), after - max(start, first))
        if last >= stop:
            return
        first = last
