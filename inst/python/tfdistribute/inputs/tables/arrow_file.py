"""Arrow files (IPC, Feather 2), by record batches."""

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

_KIND = "an Arrow file"
_REMEDY = "Write it in Arrow's file format (Feather 2), not as a stream."


@dataclass(frozen=True, eq=False)
class Arrow(TableInput, kind="arrow"):
    """Tables in Arrow's file format. A record batch is read at once."""

    def _open(self) -> Source:
        files = find_files(self.paths)
        looked_at = [_look_at(number, file) for number, file in enumerate(files)]
        schemas = [schema for schema, _ in looked_at]
        offered = [
            (file, {field.name: column_facts(field.name, field.type) for field in schema})
            for file, schema in zip(files, schemas, strict=True)
        ]
        batches = {block: index for _, found in looked_at for index, block in found}
        found = _ArrowFiles(files, tuple(schemas), self._chosen(offered), batches)
        if not self.skips:
            return found
        usable, skipped = usable_blocks(batches, found.batches, found.columns, files)
        self._report(skipped)
        return replace(found, indices=usable, skips=True)


def _look_at(number: int, file: File) -> tuple[Any, list[tuple[int, Block]]]:
    ipc = arrow_module("pyarrow.ipc")
    blocks: list[tuple[int, Block]] = []
    first = 0
    with reading(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
        schema = ipc.open_file(opened).schema
        opened.seek(0)
        # One column tells the number of rows.
        reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=[0]))
        for index in range(reader.num_record_batches):
            rows = reader.get_batch(index).num_rows
            if rows:
                blocks.append((index, Block(number, first, rows)))
            first += rows
    return schema, blocks


@dataclass(frozen=True)
class _ArrowFiles:
    files: tuple[File, ...]
    schemas: tuple[Any, ...]
    columns: TableColumns
    indices: dict[Block, int]
    skips: bool = False

    @property
    def layout(self) -> Layout:
        return self.columns.layout

    @property
    def row_bytes(self) -> int:
        return self.columns.row_bytes

    @property
    def blocks(self) -> Sequence[Block]:
        return list(self.indices)

    def batches(self, block: Block) -> Iterator[Any]:
        """Read all rows of a block, as record batches."""
        file, ipc = self.files[block.file], arrow_module("pyarrow.ipc")
        schema = self.schemas[block.file]
        fields = sorted(schema.get_field_index(name) for name in self.columns.names)
        with reading(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
            reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=fields))
            yield reader.get_batch(self.indices[block])

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        batches = self.batches(block)
        if self.skips:
            batches = usable_batches(batches, self.columns)
        wanted = batches_between(batches, start, stop)
        yield from self.columns.pieces(wanted, self.files[block.file].path, block.first + start)
