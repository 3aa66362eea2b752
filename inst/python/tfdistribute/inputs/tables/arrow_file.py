"""Arrow files (IPC, Feather 2), read by record batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tfdistribute.inputs.files.blocks import Block, Source
from tfdistribute.inputs.files.files import File, find_files
from tfdistribute.inputs.tables.pyarrow_import import (
    arrow_module,
    explain_arrow_errors,
    open_for_arrow,
)
from tfdistribute.inputs.tables.table_files import TableFiles
from tfdistribute.inputs.tables.table_input import TableInput

_KIND = "an Arrow file"
_REMEDY = "Write it in Arrow's file format (Feather 2), not as a stream."


@dataclass(frozen=True, eq=False)
class Arrow(TableInput, kind="arrow"):
    """Tables in Arrow's file format. Each record batch is a block, so the largest one determines memory use."""

    def _open(self) -> Source:
        files = find_files(self.paths, directories=True)
        scans = [_scan(number, file) for number, file in enumerate(files)]
        schemas = tuple(schema for schema, _ in scans)
        columns = self._choose_columns(files, schemas)
        positions = {block: index for _, blocks in scans for index, block in blocks}
        return self._without_bad_rows(_ArrowFiles(files, columns, positions, schemas=schemas))


def _scan(number: int, file: File) -> tuple[Any, list[tuple[int, Block]]]:
    """Read a file's schema and the row counts of its record batches."""
    ipc = arrow_module("pyarrow.ipc")
    blocks: list[tuple[int, Block]] = []
    first = 0
    with explain_arrow_errors(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
        schema = ipc.open_file(opened).schema
        opened.seek(0)
        # One column is enough to count the rows.
        reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=[0]))
        for index in range(reader.num_record_batches):
            rows = reader.get_batch(index).num_rows
            if rows:
                blocks.append((index, Block(number, first, rows)))
            first += rows
    return schema, blocks


@dataclass(frozen=True, kw_only=True)
class _ArrowFiles(TableFiles):
    schemas: tuple[Any, ...]

    def batches(self, block: Block) -> Iterator[Any]:
        file, ipc = self.files[block.file], arrow_module("pyarrow.ipc")
        schema = self.schemas[block.file]
        fields = sorted(schema.get_field_index(name) for name in self.columns.names)
        with explain_arrow_errors(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
            reader = ipc.open_file(opened, options=ipc.IpcReadOptions(included_fields=fields))
            yield reader.get_batch(self.positions[block])
