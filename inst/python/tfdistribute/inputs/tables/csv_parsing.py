"""Parsing of CSV records into Arrow tables, optionally dropping unusable records."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np

from tfdistribute.errors import InputError
from tfdistribute.inputs.files.files import File, check_unchanged, read_bytes
from tfdistribute.inputs.tables.arrow_columns import TableColumns, without_overflows
from tfdistribute.inputs.tables.bad_rows import drop_bad_rows
from tfdistribute.inputs.tables.csv_records import Span, lines_of_records
from tfdistribute.inputs.tables.numbers import choose_plain, numbers_of
from tfdistribute.storage.buckets import arrow_module

_MOST_IN_THREADS = 1000
_PLACE = re.compile(r"(?:In CSV column #(\d+): )?(?:CSV parse error: )?Row #(\d+): (.*)", re.DOTALL)


@dataclass(frozen=True)
class CsvFormat:
    delimiter: str
    na: tuple[str, ...]  # Strings that mean a missing value, unless quoted.
    types: Mapping[str, Any] = field(default_factory=dict[str, Any])  # Arrow's, by column.


@dataclass(frozen=True)
class RecordReader:
    file: File
    header: tuple[str, ...]
    format: CsvFormat

    def parse(
        self,
        span: Span,
        columns: Sequence[str],
        *,
        serially: bool = False,
        types: Mapping[str, Any] | None = None,
        bad_rows: Any = None,
    ) -> Any:
        """Parse records into a ``pyarrow.Table``; raises ArrowInvalid, naming the row only if ``serially``.

        A number beyond the largest double, such as 1e999, becomes the largest double and not infinity. ``bad_rows`` is
        pyarrow's handler of rows with too many or too few fields.
        """
        pyarrow, csv, data = arrow_module("pyarrow"), arrow_module("pyarrow.csv"), self._data(span)
        # pyarrow has a task per column, which takes longer than reading a value of it.
        in_threads = not serially and len(columns) <= _MOST_IN_THREADS

        def parsed(names: Sequence[str], types: Mapping[str, Any]) -> Any:
            return csv.read_csv(
                pyarrow.py_buffer(data),
                csv.ReadOptions(
                    column_names=list(self.header), use_threads=in_threads, block_size=len(data) + 1
                ),
                csv.ParseOptions(
                    delimiter=self.format.delimiter,
                    newlines_in_values=b'"' in data,
                    invalid_row_handler=bad_rows,
                ),
                csv.ConvertOptions(
                    column_types=dict(types),
                    include_columns=list(names),
                    null_values=list(self.format.na),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )

        table = parsed(columns, self.format.types if types is None else types)
        for name in _with_infinities(table):
            texts = parsed([name], {name: pyarrow.binary()})
            column = without_overflows(table.column(name), texts.column(name))
            table = table.set_column(table.schema.get_field_index(name), name, column)
        return table

    def read(self, span: Span, columns: Sequence[str]) -> Any:
        pyarrow = arrow_module("pyarrow")
        try:
            return self.parse(span, columns)
        except pyarrow.ArrowInvalid:
            check_unchanged([self.file])
            # Parse again: with several threads pyarrow does not count rows.
            try:
                return self.parse(span, columns, serially=True)
            except pyarrow.ArrowInvalid as error:
                raise self._explain(str(error), span) from error

    def read_good_rows(
        self, span: Span, columns: TableColumns
    ) -> tuple[Any, list[int], dict[int, str]]:
        pyarrow, names = arrow_module("pyarrow"), columns.names
        lines, reasons = self.lines(span), dict[int, str]()

        def skip(row: Any) -> str:
            fields = "1 field" if row.actual_columns == 1 else f"{row.actual_columns} fields"
            reasons[lines[row.number - 1]] = f"{fields} instead of {row.expected_columns}"
            return "skip"

        try:
            table = self.parse(span, names, serially=True, bad_rows=skip)
        except pyarrow.ArrowInvalid:
            as_bytes = dict.fromkeys(names, pyarrow.binary())
            table = self.parse(span, names, serially=True, types=as_bytes, bad_rows=skip)
        lines = [line for line in lines if line not in reasons]
        table, bad = drop_bad_rows(table, columns)
        reasons.update({lines[row]: reason for row, reason in bad.items()})
        good_lines = [line for row, line in enumerate(lines) if row not in bad]
        return table, good_lines, dict(sorted(reasons.items()))

    def lines(self, span: Span) -> list[int]:
        return lines_of_records(self.file, span, self._data(span), self.format.delimiter)

    def _data(self, span: Span) -> bytes:
        return read_bytes(self.file.path, span.offset, span.size)

    def _explain(self, message: str, span: Span) -> InputError:
        match = _PLACE.search(message)
        if match is None:
            place, problem = f'after line {span.line} of "{self.file.path}"', message
        else:
            line = self.lines(span)[int(match[2]) - 1]
            place, problem = f'line {line} of "{self.file.path}"', match[3].splitlines()[0]
        if match is None or match[1] is None:
            return InputError(
                f"The CSV record in {place} cannot be used: {problem}",
                'Correct it, or skip such rows: on_bad_row = "skip".',
                argument="paths",
                value=self.file.path,
            )
        name = self.header[int(match[1])]
        if "invalid UTF8" in problem:
            return InputError(
                f"The column `{name}` has text that is not UTF-8 in {place}.",
                'Write the file in UTF-8. In R, for text in Latin-1: writeLines(iconv(readLines("old.csv"), "latin1", '
                '"UTF-8"), "new.csv", useBytes = TRUE).',
                argument=name,
                value=self.file.path,
            )
        return InputError(
            f"The column `{name}` has a value of another type in {place}: {problem}",
            f'Give its type, as in types = list({name} = "{_fitting_type(problem)}"), or skip such rows: '
            'on_bad_row = "skip".',
            argument=name,
            value=self.file.path,
        )


def _with_infinities(table: Any) -> Iterator[str]:
    for batch in table.to_batches():
        floats = choose_plain(batch, table.column_names, np.dtype(np.float64))
        yield from compress(floats.schema.names, np.isinf(numbers_of(floats)).any(axis=0))


def _fitting_type(problem: str) -> str:
    # A column of whole numbers until then.
    is_number = re.search(
        r"to int[0-9]+: invalid value '[-+]?[0-9]*[.]?[0-9]+([eE][-+]?[0-9]+)?'", problem
    )
    return "string" if is_number is None else "float"
