"""Parquet files, by row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfdistribute.inputs.files.blocks import Block, Matrices, Source
from tfdistribute.inputs.files.files import File, find_files
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.inputs.tables.arrow_columns import TableColumns, column_facts
from tfdistribute.inputs.tables.bad_rows import batches_between, usable_batches, usable_blocks
from tfdistribute.inputs.tables.pyarrow_import import arrow_module, open_for_arrow, reading
from tfdistribute.inputs.tables.table_input import TableInput

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
        found = _ParquetFiles(files, tuple(metadata), self._chosen(offered), blocks)
        if not self.skips:
            return found
        usable, skipped = usable_blocks(blocks, found.batches, found.columns, files)
        self._report(skipped)
        return replace(found, groups=usable, skips=True)


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
    skips: bool = False

    @property
    def layout(self) -> Layout:
        return self.columns.layout

    @property
    def row_bytes(self) -> int:
        return self.columns.row_bytes

    @property
    def blocks(self) -> Sequence[Block]:
        return list(self.groups)

    def batches(self, block: Block) -> Iterator[Any]:
        """Read all rows of a block, as record batches."""
        file, parquet = self.files[block.file], arrow_module("pyarrow.parquet")
        with reading(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
            # Opened each time: a ParquetFile may not be used by several threads.
            reader = parquet.ParquetFile(opened, metadata=self.metadata[block.file])
            yield from reader.iter_batches(
                self.columns.piece_rows, [self.groups[block]], columns=self.columns.names
            )

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        batches = self.batches(block)
        if self.skips:
            batches = usable_batches(batches, self.columns)
        wanted = batches_between(batches, start, stop)
        yield from self.columns.pieces(wanted, self.files[block.file].path, block.first + start)
