"""Base class of sources that read files as Arrow record batches."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tfdistribute.inputs.files.blocks import Block, WindowMemory
from tfdistribute.inputs.files.files import File
from tfdistribute.inputs.packed.layout import Layout, Matrices
from tfdistribute.inputs.tables.arrow_columns import TableColumns
from tfdistribute.inputs.tables.bad_rows import PLACES_SHOWN, drop_bad_rows
from tfdistribute.storage.buckets import arrow_module

Files = TypeVar("Files", bound="TableFiles")


@dataclass(frozen=True)
class TableFiles:
    """Files whose blocks have positions: numbers of row groups or record batches, or byte ranges of text."""

    files: tuple[File, ...]
    columns: TableColumns
    positions: dict[Block, Any]
    skips: bool = False  # Blocks then count only the usable rows.
    memory: WindowMemory = field(default_factory=WindowMemory, init=False, compare=False)

    @property
    def layout(self) -> Layout:
        return self.columns.layout

    @property
    def row_bytes(self) -> int:
        return self.columns.row_bytes

    @property
    def blocks(self) -> Sequence[Block]:
        return list(self.positions)

    def batches(self, block: Block) -> Iterator[Any]:
        """Read a block as ``pyarrow.RecordBatch``es; may be called on any thread."""
        raise NotImplementedError

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        path, first = self.files[block.file].path, 0
        for batch in self._good_batches(block) if self.skips else self.batches(block):
            begin = max(start - first, 0)

            def locate(row: int, before: int = block.first + first + begin) -> str:
                return f'row {before + row + 1} of "{path}"'

            yield from self.columns.read(batch.slice(begin, max(stop - first - begin, 0)), locate)
            first += batch.num_rows
            if first >= stop:
                return

    def _good_batches(self, block: Block) -> Iterator[Any]:
        for batch in self.batches(block):
            yield from drop_bad_rows(_as_table(batch), self.columns)[0].to_batches()

    def without_bad_rows(self: Files) -> tuple[Files, int, list[str]]:
        positions: dict[Block, Any] = {}
        count, places = 0, list[str]()
        for block, position in self.positions.items():
            rows, first = 0, block.first
            for batch in self.batches(block):
                good, reasons = drop_bad_rows(_as_table(batch), self.columns)
                rows += good.num_rows
                count += len(reasons)
                path = self.files[block.file].path
                for row, reason in list(reasons.items())[: PLACES_SHOWN - len(places)]:
                    places.append(f'row {first + row + 1} of "{path}" ({reason})')
                first += batch.num_rows
            if rows:
                positions[replace(block, rows=rows)] = position
        return replace(self, positions=positions, skips=True), count, places


def number_blocks(files: Iterable[Iterable[int]]) -> dict[Block, int]:
    """Make a block of every row group or record batch that has rows, from their numbers of rows by file."""
    positions: dict[Block, int] = {}
    for number, rows_of_groups in enumerate(files):
        first = 0
        for position, rows in enumerate(rows_of_groups):
            if rows:
                positions[Block(number, first, rows)] = position
            first += rows
    return positions


def _as_table(batch: Any) -> Any:
    return arrow_module("pyarrow").Table.from_batches([batch])
