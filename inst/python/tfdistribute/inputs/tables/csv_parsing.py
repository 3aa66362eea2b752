"""Records of CSV files as Arrow tables, and which of them cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.errors import InputError
from tfdistribute.inputs.files.files import File, check_unchanged
from tfdistribute.inputs.tables.arrow_columns import TableColumns
from tfdistribute.inputs.tables.csv_records import Span, lines_of_records
from tfdistribute.inputs.tables.pyarrow_import import arrow_module

_PLACE = re.compile(r"(?:In CSV column #(\d+): )?(?:CSV parse error: )?Row #(\d+): (.*)", re.DOTALL)


@dataclass(frozen=True)
class SkippedRecord:
    """A row that cannot be used.

    Args:
        path: Its file.
        line: Where it begins.
        reason: Why.
    """

    path: str
    line: int
    reason: str


@dataclass(frozen=True)
class CsvFormat:
    """How fields are written, and what they become.

    Args:
        delimiter: What stands between fields.
        na: Strings that stand for missing values; in quotes they are strings.
        types: Arrow types by name of the column.
    """

    delimiter: str
    na: tuple[str, ...]
    types: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def parsed(
        self,
        data: bytes,
        header: Sequence[str],
        columns: Sequence[str],
        *,
        serially: bool = False,
        types: Mapping[str, Any] | None = None,
        bad_rows: Any = None,
    ) -> Any:
        """Parse records with pyarrow.

        Args:
            data: Whole records.
            header: Names of all columns.
            columns: Names of those to keep.
            serially: Whether errors have to name their row.
            types: Types in place of ``types``; what has none is inferred.
            bad_rows: pyarrow's handler of rows with too many or too few fields.

        Returns:
            A ``pyarrow.Table``.
        """
        csv = arrow_module("pyarrow.csv")
        return csv.read_csv(
            arrow_module("pyarrow").py_buffer(data),
            csv.ReadOptions(
                column_names=list(header), use_threads=not serially, block_size=len(data) + 1
            ),
            csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=b'"' in data,
                invalid_row_handler=bad_rows,
            ),
            csv.ConvertOptions(
                column_types=dict(self.types if types is None else types),
                include_columns=list(columns),
                null_values=list(self.na),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


@dataclass(frozen=True)
class RecordReader:
    """Reads spans of one CSV file.

    Args:
        file: The file.
        header: Names of all its columns.
        format: How it is written.
    """

    file: File
    header: tuple[str, ...]
    format: CsvFormat

    def strict(self, span: Span, data: bytes, columns: Sequence[str]) -> Any:
        """Parse records that must all be usable.

        Args:
            span: Where they are.
            data: Their bytes.
            columns: Names of the columns to keep.

        Returns:
            A ``pyarrow.Table``.

        Raises:
            InputError: a record has too many or too few fields, or a value that does not fit, named with its line.
        """
        pyarrow = arrow_module("pyarrow")
        try:
            return self.format.parsed(data, self.header, columns)
        except pyarrow.ArrowInvalid:
            check_unchanged([self.file])
            # Once more, because pyarrow counts rows only where it has one thread.
            try:
                return self.format.parsed(data, self.header, columns, serially=True)
            except pyarrow.ArrowInvalid as error:
                raise self._explained(str(error), span, data) from error

    def lenient(
        self, span: Span, data: bytes, columns: TableColumns
    ) -> tuple[Any, list[int], list[SkippedRecord]]:
        """Parse records and leave out those that cannot be used.

        Args:
            span: Where they are.
            data: Their bytes.
            columns: The columns to keep, and what stands for missing values.

        Returns:
            A ``pyarrow.Table``, the line of each of its rows, and what was left out.
        """
        lines = lines_of_records(self.file, span, data, self.format.delimiter)
        skipped: list[SkippedRecord] = []

        def skip(row: Any) -> str:
            fields = "1 field" if row.actual_columns == 1 else f"{row.actual_columns} fields"
            reason = f"{fields} instead of {row.expected_columns}"
            skipped.append(SkippedRecord(self.file.path, lines[row.number - 1], reason))
            return "skip"

        table, unfit = self._loosely(data, columns.names, skip, skipped)
        left_out = {each.line for each in skipped}
        lines = [line for line in lines if line not in left_out]
        keep = np.ones(table.num_rows, bool)
        for name in columns.names:
            unusable = unfit[name]
            if name not in columns.fillings:
                unusable = unusable | _missing(table.column(name))
            if unusable.any():
                skipped += [
                    SkippedRecord(
                        self.file.path, lines[row], f"no value of its type in the column `{name}`"
                    )
                    for row in np.flatnonzero(unusable & keep).tolist()
                ]
                keep &= ~unusable
        kept = [line for line, keeps in zip(lines, keep.tolist(), strict=True) if keeps]
        skipped.sort(key=lambda each: each.line)
        return table.filter(arrow_module("pyarrow").array(keep)), kept, skipped

    def _loosely(
        self, data: bytes, names: list[str], skip: Any, skipped: list[SkippedRecord]
    ) -> tuple[Any, dict[str, npt.NDArray[np.bool_]]]:
        """The table, and which values do not fit their types."""
        pyarrow = arrow_module("pyarrow")
        try:
            table = self.format.parsed(data, self.header, names, serially=True, bad_rows=skip)
            return table, dict.fromkeys(names, np.zeros(table.num_rows, bool))
        except pyarrow.ArrowInvalid:
            skipped.clear()
        raw = self.format.parsed(
            data,
            self.header,
            names,
            serially=True,
            types=dict.fromkeys(names, pyarrow.binary()),
            bad_rows=skip,
        )
        typed = [_cast_where_possible(raw.column(name), self.format.types[name]) for name in names]
        given = [_missing(raw.column(name)) for name in names]
        unfit = [
            column.is_null().to_numpy() & ~missing
            for column, missing in zip(typed, given, strict=True)
        ]
        return pyarrow.table(typed, names=names), dict(zip(names, unfit, strict=True))

    def _explained(self, said: str, span: Span, data: bytes) -> InputError:
        found = _PLACE.search(said)
        if found is None:
            place, problem = f'after line {span.line} of "{self.file.path}"', said
        else:
            lines = lines_of_records(self.file, span, data, self.format.delimiter)
            line = lines[int(found[2]) - 1]
            place, problem = f'line {line} of "{self.file.path}"', found[3].splitlines()[0]
        if found is None or found[1] is None:
            return InputError(
                f"The CSV record in {place} cannot be used: {problem}",
                'Correct it, or leave such rows out: on_bad_row = "skip".',
                argument="paths",
                value=self.file.path,
            )
        name = self.header[int(found[1])]
        return InputError(
            f"The column `{name}` has a value of another type in {place}: {problem}",
            f'Give its type, as in types = list({name} = "string"), or leave such rows out: on_bad_row = "skip".',
            argument=name,
            value=self.file.path,
        )


def _missing(column: Any) -> Any:
    missing = column.is_null().to_numpy()
    if arrow_module("pyarrow").types.is_floating(column.type):
        missing = missing | np.isnan(column.fill_null(0.0).to_numpy())
    return missing


def _cast_where_possible(column: Any, arrow_type: Any) -> Any:
    """Cast bytes to a type; what does not fit becomes null."""
    pyarrow = arrow_module("pyarrow")
    try:
        return column.cast(pyarrow.string()).cast(arrow_type)
    except pyarrow.ArrowInvalid:
        pass
    cast: list[Any] = []
    for value in column.to_pylist():
        try:
            text = None if value is None else pyarrow.scalar(value.decode())
            cast.append(None if text is None else text.cast(arrow_type).as_py())
        except (pyarrow.ArrowInvalid, UnicodeDecodeError):
            cast.append(None)
    return pyarrow.chunked_array([pyarrow.array(cast, arrow_type)])
