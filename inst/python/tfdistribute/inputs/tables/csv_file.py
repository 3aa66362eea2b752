"""CSV files, read in blocks of text that pyarrow parses."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

from tfdistribute.descriptions.constraints import Pattern
from tfdistribute.errors import InputError
from tfdistribute.inputs.files.blocks import Block, Source
from tfdistribute.inputs.files.files import File, changed_error, find_files, read_bytes
from tfdistribute.inputs.packed.layout import Matrices
from tfdistribute.inputs.tables.arrow_columns import arrow_type_of
from tfdistribute.inputs.tables.bad_rows import PLACES_SHOWN
from tfdistribute.inputs.tables.csv_parsing import CsvFormat, RecordReader
from tfdistribute.inputs.tables.csv_records import Span, check_delimiter, find_spans
from tfdistribute.inputs.tables.table_files import TableFiles
from tfdistribute.inputs.tables.table_input import TableInput
from tfdistribute.storage.buckets import arrow_module

_DELIMITER = Pattern(
    "[ !#-~\t]", "`{argument}` must be one ASCII character, and not a quote, not {value}."
)


@dataclass(frozen=True, eq=False)
class Csv(TableInput, kind="csv"):
    """CSV tables with column names in the first line.

    Types that ``types`` does not give are inferred by pyarrow from the first block of the first file that has rows. One
    pass over the files counts their records. It is repeated when a file has changed.

    Args:
        types: Types of columns: a named list or vector of `"float"`, `"integer"`, `"integer64"`, `"string"`,
            `"logical"`, `"date"` or `"datetime"`. Other types are inferred from the first megabyte of the first file
            with rows, and apply to all files.
        on_bad_row: How to handle a row that has too many or too few fields, a value that does not fit its column's
            type, a number beyond 3.4e38, an infinite response, text that is not UTF-8, or a missing value that `impute`
            does not fill: `"error"` or `"skip"`. With `"skip"`, each verb parses all files one additional time, and
            ends with a warning that contains the number of skipped rows.
        na: Strings that represent a missing value, unless they are quoted.
        delim: Character between fields, one ASCII character.
    """

    delim: Annotated[str, _DELIMITER] = ","
    na: tuple[str, ...] = ("", "NA")  # Strings that mean a missing value, unless quoted.

    def _open(self) -> Source:
        files = find_files(self.paths, directories=True)
        format = CsvFormat(self.delim, self.na)  # noqa: A001
        readers = [RecordReader(file, _header(file, self.delim), format) for file in files]
        types = self._infer_types(readers)
        schemas = [{name: types.get(name) for name in reader.header} for reader in readers]
        columns = self._choose_columns(files, schemas)
        chosen = {
            name: arrow_type_of(self.types[name]) if name in self.types else types[name]
            for name in columns.names
        }
        format = replace(format, types=chosen)  # noqa: A001
        readers = [replace(reader, format=format) for reader in readers]
        return self._count_rows(_CsvFiles(files, columns, {}, self.skips, tuple(readers)))

    def _infer_types(self, readers: Sequence[RecordReader]) -> dict[str, Any]:
        for reader in readers:
            for span in _records(reader.file, self.delim):
                if not span.records:
                    continue
                there = set(reader.header)
                wanted = self._names(dict.fromkeys(readers[0].header))
                wanted = [name for name in wanted if name in there]
                table = self._first_table(reader, span, wanted)
                return {
                    name: _settle_type(table.column(name), name, reader.file) for name in wanted
                }
        # No file has rows: an error follows later, so any type will do.
        return dict.fromkeys(readers[0].header, arrow_type_of("float"))

    def _first_table(self, reader: RecordReader, span: Span, wanted: list[str]) -> Any:
        if self.skips:
            return reader.parse(span, wanted, bad_rows=lambda _: "skip")
        given = {name: arrow_type_of(self.types[name]) for name in wanted if name in self.types}
        table = _with_types(reader, given).read(span, wanted)
        # Text that is not UTF-8 is inferred as bytes; reading it as strings gives an error with its line.
        binary = arrow_module("pyarrow").binary()
        strings = [name for name in wanted if table.column(name).type == binary]
        if not strings:
            return table
        types = {**given, **dict.fromkeys(strings, arrow_type_of("string"))}
        return _with_types(reader, types).read(span, wanted)

    def _count_rows(self, files: "_CsvFiles") -> "_CsvFiles":
        reasons: list[str] = []
        blocks: dict[Block, Span] = {}
        for number, reader in enumerate(files.readers):
            first = 0
            for span in _cached_spans(reader.file, self.delim):
                rows = span.records
                if self.skips:
                    table, _, dropped = files.read_span(number, span)
                    rows = table.num_rows
                    path = reader.file.path
                    reasons += [f'line {line} of "{path}" ({why})' for line, why in dropped.items()]
                if rows:
                    blocks[Block(number, first, rows)] = span
                first += rows
        self._report(len(reasons), reasons[:PLACES_SHOWN])
        return replace(files, positions=blocks)


def _with_types(reader: RecordReader, types: Mapping[str, Any]) -> RecordReader:
    return replace(reader, format=replace(reader.format, types=types))


def _header(file: File, delimiter: str) -> tuple[str, ...]:
    span = next(find_spans(file, delimiter, first=True), None)
    if span is None:
        names: list[str] = []
    else:
        data = read_bytes(file.path, span.offset, span.size)
        try:
            text = data.decode().strip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f'The names of the columns in "{file.path}" are not UTF-8: {error}.',
                "Write the file in UTF-8.",
                argument="paths",
                value=file.path,
            ) from error
        names = _fields(text, file, delimiter)
        if len(names) == 1:
            check_delimiter(file, text.encode(), delimiter)
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if not names or twice:
        raise InputError(
            f'The file "{file.path}" names two columns `{twice[0]}`.'
            if twice
            else f'The file "{file.path}" has only empty lines.',
            "Give every column a name of its own in the first line.",
            argument="paths",
            value=file.path,
        )
    return tuple(names)


def _fields(text: str, file: File, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error as error:
        longest = csv.field_size_limit()
        raise InputError(
            f'The first line of "{file.path}" has a name of more than {longest:,} characters.',
            "Begin the file with the names of its columns.",
            argument="paths",
            value=file.path,
        ) from error


# Successive verbs often read the same files; a file that has changed is another key.
@lru_cache(maxsize=1000)
def _cached_spans(file: File, delimiter: str) -> tuple[Span, ...]:
    return tuple(_records(file, delimiter))


def _records(file: File, delimiter: str) -> Iterator[Span]:
    spans = find_spans(file, delimiter)
    next(spans, None)
    return spans


def _settle_type(column: Any, name: str, file: File) -> Any:
    pyarrow = arrow_module("pyarrow")
    if pyarrow.types.is_binary(column.type):
        return pyarrow.string()
    if pyarrow.types.is_null(column.type):
        raise InputError(
            f"No type can be inferred for the column `{name}`: it has only missing values at the beginning of "
            f'"{file.path}".',
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


@dataclass(frozen=True)
class _CsvFiles(TableFiles):
    readers: tuple[RecordReader, ...] = ()

    def read_span(self, file: int, span: Span) -> tuple[Any, Sequence[int], Mapping[int, str]]:
        """Read a span: a table, the lines of its rows, and the reasons for dropped rows by line.

        Lines are found only if rows are skipped, since finding them is slow.
        """
        reader = self.readers[file]
        if self.skips:
            return reader.read_good_rows(span, self.columns)
        return reader.read(span, self.columns.names), (), {}

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        reader, span = self.readers[block.file], self.positions[block]
        table, lines, _ = self.read_span(block.file, span)
        if table.num_rows != block.rows:
            raise changed_error(reader.file.path)

        def locate(row: int) -> str:
            return f'line {(lines or reader.lines(span))[start + row]} of "{reader.file.path}"'

        for batch in table.slice(start, stop - start).combine_chunks().to_batches():
            yield from self.columns.read(batch, locate)
