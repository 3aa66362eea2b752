"""Parquet files, read by row group."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tfdistribute.inputs.files.blocks import Block, Source
from tfdistribute.inputs.files.files import File, find_files, read_bytes
from tfdistribute.inputs.tables.arrow_files import (
    arrow_module,
    explain_arrow_errors,
    open_for_arrow,
)
from tfdistribute.inputs.tables.table_files import TableFiles, number_blocks
from tfdistribute.inputs.tables.table_input import TableInput

_KIND = "a Parquet file"
_REMEDY = "Write the file again, or leave it out."


@dataclass(frozen=True, eq=False)
class Parquet(TableInput, kind="parquet"):
    """Parquet tables. Each row group is a block, so the largest one determines memory use."""

    def _open(self) -> Source:
        files = find_files(self.paths, directories=True)
        metadata = tuple(_metadata(file) for file in files)
        columns = self._choose_columns(files, [each.schema.to_arrow_schema() for each in metadata])
        groups = (
            [each.row_group(group).num_rows for group in range(each.num_row_groups)]
            for each in metadata
        )
        positions = number_blocks(groups)
        return self._without_bad_rows(_ParquetFiles(files, columns, positions, metadata=metadata))


def _metadata(file: File) -> Any:
    parquet = arrow_module("pyarrow.parquet")
    with explain_arrow_errors(file, _KIND, _remedy(file)), open_for_arrow(file) as opened:
        return parquet.read_metadata(opened)


def _remedy(file: File) -> str:
    begin = read_bytes(file.path, 0, min(file.size, 1000))
    if begin.startswith(b"ARROW1"):
        return "Use input_arrow()."
    if begin and not begin.startswith(b"PAR1") and b"\x00" not in begin:
        return "Use input_csv() if it is a CSV file; otherwise write it again, or leave it out."
    return _REMEDY


@dataclass(frozen=True, kw_only=True)
class _ParquetFiles(TableFiles):
    metadata: tuple[Any, ...]

    def batches(self, block: Block) -> Iterator[Any]:
        file, parquet = self.files[block.file], arrow_module("pyarrow.parquet")
        with explain_arrow_errors(file, _KIND, _REMEDY), open_for_arrow(file) as opened:
            # Open the file for each block: threads must not share a ParquetFile.
            reader = parquet.ParquetFile(opened, metadata=self.metadata[block.file])
            names = self.columns.names
            # The threads of pyarrow take turns in one column.
            yield from reader.iter_batches(
                self.columns.batch_rows, [self.positions[block]], names, use_threads=len(names) > 1
            )
