"""CSV files, by blocks of text that pyarrow parses."""

from __future__ import annotations

import csv
import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfdistribute.errors import InputError
from tfdistribute.inputs.files.blocks import Block, Matrices, Source
from tfdistribute.inputs.files.files import File, changed, find_files, read_bytes
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.inputs.tables.arrow_columns import TableColumns, arrow_type_of, column_facts
from tfdistribute.inputs.tables.bad_rows import SHOWN, Skipped
from tfdistribute.inputs.tables.csv_parsing import CsvFormat, RecordReader, SkippedRecord
from tfdistribute.inputs.tables.csv_records import Span, lines_of_records, spans
from tfdistribute.inputs.tables.pyarrow_import import arrow_module
from tfdistribute.inputs.tables.table_input import Offered, TableInput

# What the passes over files have found, for as long as these do not change; each is small.
_FOUND: OrderedDict[Any, tuple[tuple[Span, int], ...]] = OrderedDict()
_MOST_FOUND = 1000


@dataclass(frozen=True, eq=False)
class Csv(TableInput, kind="csv"):
    """Tables in CSV files whose first line names the columns.

    The types are those of ``types``, else those that pyarrow infers from the first block of the first file that has
    rows. One pass over the files counts their records; it is repeated when a file has changed.

    Args:
        delimiter: What stands between fields, one ASCII character.
        na: Strings that stand for missing values; in quotes they are strings.
    """

    delimiter: str = ","
    na: tuple[str, ...] = ("", "NA")

    def _open(self) -> Source:
        self._check_types()
        files = find_files(self.paths)
        layout = CsvFormat(self.delimiter, self.na)
        readers = [RecordReader(file, _header(file, self.delimiter), layout) for file in files]
        types = self._types(readers)
        columns = self._chosen([(reader.file, _offered(reader, types)) for reader in readers])
        chosen = {
            name: arrow_type_of(self.types[name]) if name in self.types else types[name]
            for name in columns.names
        }
        layout = replace(layout, types=chosen)
        readers = [replace(reader, format=layout) for reader in readers]
        skipped: list[SkippedRecord] = []
        blocks: dict[Block, Span] = {}
        for number, reader in enumerate(readers):
            first = 0
            for span, rows in self._counted(reader, columns, skipped):
                if rows:
                    blocks[Block(number, first, rows)] = span
                first += rows
        places = [f'line {each.line} of "{each.path}" ({each.reason})' for each in skipped[:SHOWN]]
        self._report(Skipped(len(skipped), places))
        return _CsvFiles(files, tuple(readers), columns, blocks, self.skips)

    def _types(self, readers: Sequence[RecordReader]) -> dict[str, Any]:
        """Infer the types that are not given, from the first block with rows."""
        for reader in readers:
            for span in _records(reader.file, self.delimiter):
                if not span.records:
                    continue
                wanted = self._names(dict.fromkeys(readers[0].header))
                wanted = [name for name in wanted if name in reader.header]
                data = read_bytes(reader.file.path, span.offset, span.size)
                table = self._first_table(reader, span, data, wanted)
                return {name: _settled(table.column(name), name, reader.file) for name in wanted}
        # No file has rows, which is refused later; until then any type will do.
        return dict.fromkeys(readers[0].header, arrow_type_of("float"))

    def _first_table(self, reader: RecordReader, span: Span, data: bytes, wanted: list[str]) -> Any:
        given = {name: arrow_type_of(self.types[name]) for name in wanted if name in self.types}
        binary = arrow_module("pyarrow").binary()
        if self.skips:
            return reader.format.parsed(data, reader.header, wanted, bad_rows=lambda _: "skip")
        table = replace(reader, format=replace(reader.format, types=given)).strict(
            span, data, wanted
        )
        # Text that is not UTF-8 is inferred to be bytes; as strings it is refused with its line.
        strings = {name: arrow_type_of("string") for name in wanted}
        strings = {n: t for n, t in strings.items() if table.column(n).type == binary}
        if not strings:
            return table
        types = {**given, **strings}
        return replace(reader, format=replace(reader.format, types=types)).strict(
            span, data, wanted
        )

    def _counted(
        self, reader: RecordReader, columns: TableColumns, skipped: list[SkippedRecord]
    ) -> Iterator[tuple[Span, int]]:
        if not self.skips:
            key = (reader.file, self.delimiter)
            if key not in _FOUND:
                found = _records(reader.file, self.delimiter)
                _FOUND[key] = tuple((span, span.records) for span in found)
                while len(_FOUND) > _MOST_FOUND:
                    _FOUND.popitem(last=False)
            yield from _FOUND[key]
            return
        for span in _records(reader.file, self.delimiter):
            data = read_bytes(reader.file.path, span.offset, span.size)
            table, _, left_out = reader.lenient(span, data, columns)
            skipped += left_out
            yield span, table.num_rows


def _header(file: File, delimiter: str) -> tuple[str, ...]:
    found = next(spans(file, delimiter, first=True), None)
    if found is None:
        names: list[str] = []
    else:
        data = read_bytes(file.path, found.offset, found.size)
        try:
            text = data.decode().strip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f'The names of the columns in "{file.path}" are not UTF-8: {error}.',
                "Write the file in UTF-8.",
                argument="paths",
                value=file.path,
            ) from error
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        raise InputError(
            f'The file "{file.path}" names two columns `{twice[0]}`.'
            if twice
            else f'The file "{file.path}" has nothing but empty lines.',
            "Give every column a name of its own in the first line.",
            argument="paths",
            value=file.path,
        )
    return tuple(names)


def _records(file: File, delimiter: str) -> Iterator[Span]:
    found = spans(file, delimiter)
    next(found, None)
    return found


def _settled(column: Any, name: str, file: File) -> Any:
    pyarrow = arrow_module("pyarrow")
    if pyarrow.types.is_binary(column.type):
        return pyarrow.string()
    if pyarrow.types.is_null(column.type):
        raise InputError(
            f'The column `{name}` has only missing values at the beginning of "{file.path}", which tell no type.',
            f'Give its type, as in types = list({name} = "float").',
            argument=name,
            value=file.path,
        )
    if pyarrow.types.is_int64(column.type):
        try:
            column.cast(pyarrow.int32())
        except pyarrow.ArrowInvalid:
            return column.type
        return pyarrow.int32()
    return column.type


def _offered(reader: RecordReader, types: Mapping[str, Any]) -> Offered:
    return {
        name: column_facts(name, types[name]) if name in types else None for name in reader.header
    }


@dataclass(frozen=True)
class _CsvFiles:
    files: tuple[File, ...]
    readers: tuple[RecordReader, ...]
    columns: TableColumns
    spans: dict[Block, Span]
    skips: bool

    @property
    def layout(self) -> Layout:
        return self.columns.layout

    @property
    def row_bytes(self) -> int:
        return self.columns.row_bytes

    @property
    def blocks(self) -> Sequence[Block]:
        return list(self.spans)

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        reader, span = self.readers[block.file], self.spans[block]
        data = read_bytes(reader.file.path, span.offset, span.size)
        lines: list[int] = []
        if self.skips:
            table, lines, _ = reader.lenient(span, data, self.columns)
        else:
            table = reader.strict(span, data, self.columns.names)
        if table.num_rows != block.rows:
            raise changed(reader.file.path)

        def place_of(row: int) -> str:
            known = lines or lines_of_records(reader.file, span, data, reader.format.delimiter)
            return f'line {known[start + row]} of "{reader.file.path}"'

        yield self.columns.matrices(table.slice(start, stop - start), place_of)
