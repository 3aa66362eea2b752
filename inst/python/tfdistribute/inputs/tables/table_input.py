"""Base class of table file inputs: selection of columns and types."""

import copy
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import (
    MISSING_LABEL,
    AcceptedValues,
    ColumnFacts,
    ReadTypes,
    Type,
    by_name,
    list_columns,
)
from tfdistribute.descriptions.constraints import Fact, MayDiffer
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import RowInput
from tfdistribute.inputs.files.blocks import RowStream, Source
from tfdistribute.inputs.files.file_input import FileInput
from tfdistribute.inputs.files.files import File
from tfdistribute.inputs.memory import PackedInput
from tfdistribute.inputs.packed.layout import Layout, Tables
from tfdistribute.inputs.packed.packing import Column, PackedColumns, pack
from tfdistribute.inputs.tables.arrow_columns import TableColumns, column_facts
from tfdistribute.inputs.tables.table_files import TableFiles
from tfdistribute.sharding import RangePlan, Shard

# Every column takes time of its own at each step; more have to be one column with many values per row.
MOST_FEATURES = 100_000

# Rows that are copied into memory at once.
_ROWS_AT_ONCE = 2**16

# A file's columns by name; None for types that TensorFlow does not support.
_FileColumns = Mapping[str, ColumnFacts | None]


@dataclass(frozen=True, eq=False)
class TableInput(FileInput):
    """Fields that several kinds share.

    Args:
        types: Types of columns, instead of the types in the file: a named list or vector of `"float"`, `"integer"`,
            `"integer64"`, `"string"`, `"logical"`, `"date"` or `"datetime"`.
        impute: Replacement for missing values in features: a named list with a value per feature. NULL (default) makes
            missing values an error, except for [tabular_regressor()] and [tabular_classifier()]. Missing responses are
            always an error.
        on_bad_row: How to handle a row with a value that does not fit its column's type, a number beyond 3.4e38, an
            infinite response, or a missing value that `impute` does not fill: `"error"` or `"skip"`. With `"skip"`,
            each verb reads all files one additional time, and ends with a warning that contains the number of skipped
            rows.
    """

    # They override the file's.
    types: dict[str, Type] = field(default_factory=dict[str, Type])
    # Replacements for missing values, by feature. Other features must have no missing values.
    impute: Mapping[str, Any] = field(default_factory=dict[str, Any])
    on_bad_row: Literal["error", "skip"] = "error"
    # Called with the number of skipped rows, and the place and reason of the first few.
    on_skipped: Annotated[Callable[..., Any] | None, Fact.INTERNAL, MayDiffer("It warns.")] = None

    @property
    def skips(self) -> bool:
        return self.on_bad_row == "skip"

    def in_memory(self) -> PackedInput:
        source, rows = self._source, self.facts().rows
        assert rows is not None
        matrices = source.layout.empty(rows)
        stream, first = RowStream(source, RangePlan(rows, 1, rows, Shard.of(None)), None), 0
        while first < rows:
            pieces = stream.take(min(_ROWS_AT_ONCE, rows - first))
            for whole, piece in zip(matrices, pieces, strict=True):
                whole[first : first + len(piece)] = piece
            first += len(pieces[0])
        stream.finish()
        read = PackedColumns(matrices, source.layout)
        return PackedInput(**{each.name: getattr(self, each.name) for each in fields(RowInput)}).of(
            pack([_column(read, facts) for facts in source.layout.facts.values()])
        )

    def accepting(self, accepted: AcceptedValues) -> "TableInput":
        return self._with_columns(accepted=accepted)

    def _with_columns(self, **fields: Any) -> "TableInput":
        source: Any = self._source
        columns, changed = replace(source.columns, **fields), copy.copy(self)
        # Readers of both keep their errors in one place.
        changed.__dict__.update(_source=replace(source, columns=columns), _failures=self._failures)
        return changed

    def reading(self, types: ReadTypes) -> "TableInput":
        layout, wanted = self._source.layout, by_name(types, self.response)
        facts = [
            replace(each, type=wanted[each.name])
            if each.type in ("float", "double") and each.name in wanted
            else each
            for each in layout.facts.values()
        ]
        return self._with_columns(layout=Layout.of(facts, layout.tables))

    def with_missing(self) -> "TableInput":
        source: Any = self._source
        columns = source.columns
        facts = {
            each.name: each if each.name == self.response else _with_room(each)
            for each in columns.layout.facts.values()
        }
        tables = {
            name: _with_label(table, MISSING_LABEL) for name, table in columns.layout.tables.items()
        }
        missing = {
            each.name: MISSING_LABEL if each.type == "string" else math.nan
            for each in facts.values()
            if each.name != self.response
        }
        return self._with_columns(
            layout=Layout.of(facts.values(), tables),
            fill_values={**missing, **columns.fill_values},
        )

    def _without_bad_rows(self, files: TableFiles) -> Source:
        if not self.skips:
            return files
        files, count, places = files.without_bad_rows()
        self._report(count, places)
        return files

    def _report(self, count: int, places: list[str]) -> None:
        if count == 0:
            return
        if self.on_skipped is not None:
            self.on_skipped(count, places)
        else:
            message = f"Skipped {count} rows: {'; '.join(places)}"
            warnings.warn(message, stacklevel=2)

    def _choose_columns(
        self,
        files: Sequence[File],
        schemas: Sequence[Any],
        indexed: Mapping[str, ColumnFacts] | None = None,
        tables: Tables | None = None,
    ) -> TableColumns:
        """Select the columns, and check that every file has them.

        ``indexed`` are the columns as an index describes them; ``tables``, the strings of columns that every file
        stores as codes.
        """
        found = [_columns_of(schema) for schema in schemas]
        first, columns = files[0], found[0]
        names = self._names(columns)
        for file, others in zip(files, found, strict=True):
            _check_known(file, others, names, "features" if file is first else "paths")
        for argument, named in (("types", self.types), ("impute", self.impute)):
            _check_known(first, dict.fromkeys(names), list(named), argument)
        chosen = [self._typed(first, name, columns[name]) for name in names]
        for file, others in list(zip(files, found, strict=True))[1:]:
            for facts in chosen:
                self._check_same(first, file, facts, others)
        fill_values = {facts.name: _fill_value(facts, self.impute) for facts in chosen}
        fill_values = {name: value for name, value in fill_values.items() if value is not None}
        coded = {
            facts.name: _with_label(tables[facts.name], fill_values.get(facts.name))
            for facts in chosen
            if tables and facts.name in tables and facts.type == "string"
        }
        described = [_prefer_indexed(facts, (indexed or {}).get(facts.name)) for facts in chosen]
        return TableColumns(Layout.of(described, coded), self.response, fill_values)

    def _names(self, columns: Mapping[str, Any]) -> list[str]:
        response = [] if self.response is None else [self.response]
        if self.features == ():
            columns = {}
        features = [name for name in self.features or columns if name not in response]
        if not features:
            raise InputError(
                "No features were chosen.",
                "Name at least one column in `features`.",
                argument="features",
            )
        if len(features) > MOST_FEATURES:
            raise InputError(
                f"The input has {len(features):,} features, and can have at most {MOST_FEATURES:,}.",
                "Choose fewer in `features`, or write each row as one column with write_arrow().",
                argument="features",
            )
        return [*features, *response]

    def _typed(self, file: File, name: str, facts: ColumnFacts | None) -> ColumnFacts:
        given = self.types.get(name)
        if facts is None and given is None:
            raise InputError(
                f'The column `{name}` of "{file.path}" has a type that TensorFlow does not support.',
                "Choose other columns in `features`, or give a type in `types`.",
                argument=name,
            )
        if given is None:
            assert facts is not None
            return facts
        return ColumnFacts(name, given) if facts is None else replace(facts, type=given)

    def _check_same(
        self, first: File, file: File, facts: ColumnFacts, others: _FileColumns
    ) -> None:
        other = self._typed(file, facts.name, others[facts.name])
        if (other.type, other.shape) != (facts.type, facts.shape):
            raise InputError(
                f'The column `{facts.name}` is {_show(other)} in "{file.path}", '
                f'and {_show(facts)} in "{first.path}".',
                f'Write all files with one type, or choose it, as in types = list({facts.name} = "float").',
                argument="paths",
                value=file.path,
            )


def _with_room(facts: ColumnFacts) -> ColumnFacts:
    """Return a type of column that has a value for missing ones, and all digits."""
    doubles = dict.fromkeys(("float", "integer", "integer64"), "double")
    types = {**doubles, "logical": "string"}
    return replace(facts, type=types.get(facts.type, facts.type))


def _prefer_indexed(facts: ColumnFacts, indexed: ColumnFacts | None) -> ColumnFacts:
    fits = indexed is not None and (indexed.type, indexed.width) == (facts.type, facts.width)
    return indexed if indexed is not None and fits else facts


def _with_label(table: npt.NDArray[np.object_], label: str | None) -> npt.NDArray[np.object_]:
    return table if label is None or label in table else np.append(table, label)


def _column(read: PackedColumns, facts: ColumnFacts) -> Column:
    """Return a column as R would send it."""

    def values() -> Any:
        found = read.values(facts.name, slice(None))
        if facts.type != "string":
            return found
        labels, codes = np.unique(found.reshape(-1), return_inverse=True)
        texts = [each.decode() if isinstance(each, bytes) else each for each in labels]
        return {"codes": codes.reshape(found.shape), "labels": texts}

    return Column(facts.name, facts.type, values, facts.shape, facts.levels, facts.as_labels)


def _columns_of(schema: Any) -> _FileColumns:
    types = schema if isinstance(schema, Mapping) else {each.name: each.type for each in schema}
    return {
        name: None if arrow_type is None else column_facts(name, arrow_type)
        for name, arrow_type in types.items()
    }


def _check_known(file: File, columns: Mapping[str, Any], names: list[str], argument: str) -> None:
    for name in names:
        if name not in columns:
            raise InputError(
                f'The file "{file.path}" has no column `{name}`.'
                if argument in ("features", "paths")
                else f"`{argument}` names `{name}`, which was not chosen.",
                list_columns(columns),
                argument=argument,
                value=name,
            )


def _show(facts: ColumnFacts) -> str:
    return facts.type if not facts.shape else f"{facts.type} of {facts.shape[0]} per row"


def _fill_value(facts: ColumnFacts, impute: Mapping[str, Any]) -> Any:
    value = impute.get(facts.name)
    if value is None:
        return None
    fits = (
        isinstance(value, str) if facts.type == "string" else isinstance(value, (bool, int, float))
    )
    if fits and facts.type in ("integer", "integer64", "logical"):
        fits = float(value) == int(value)
    if not fits:
        raise InputError(
            f"`impute` gives {value!r} for `{facts.name}`, which is {facts.type}.",
            "Give a value of the column's type.",
            value=repr(value),
        )
    return value
