"""Conversion of Arrow columns to types and matrices."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import ARROW_TYPES, AcceptedValues, ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.packed.layout import ColumnSlot, Layout, Matrices, check_columns
from tfdistribute.inputs.tables.numbers import choose_plain, numbers_of, put_columns
from tfdistribute.storage.buckets import arrow_module

# Bytes copied from Arrow's columns at once; small enough for the processor's cache.
BATCH_BYTES = 2 * 2**20
_MANY_COLUMNS = 512

# Values of a dictionary that is kept as codes. A reader loads the dictionaries of a file anew for every record batch:
# longer ones cost more than they save.
LONGEST_DICTIONARY = 10_000

# Approximate overhead of a string besides its pointer.
_STRING_BYTES = 60

# Returns the place of a row, such as 'line 7 of "a.csv"'.
_Locate = Callable[[int], str]
_Mask = npt.NDArray[np.bool_]
_Masked = tuple[npt.NDArray[Any], _Mask | None]  # Values, and a mask of missing ones.

_PER_SECOND: Mapping[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def arrow_type_of(column_type: str) -> Any:
    return arrow_module("pyarrow").type_for_alias(ARROW_TYPES[column_type])


def column_facts(name: str, arrow_type: Any) -> ColumnFacts | None:
    """Describe a column by its ``pyarrow.DataType``; None if TensorFlow does not support the type."""
    types = arrow_module("pyarrow").types
    if types.is_dictionary(arrow_type):
        return column_facts(name, arrow_type.value_type)
    if types.is_fixed_size_list(arrow_type):
        inner = column_facts(name, arrow_type.value_type)
        if inner is None or inner.shape:
            return None
        return ColumnFacts(name, inner.type, (arrow_type.list_size,))
    for is_type, column_type in (
        (types.is_floating, "float"),
        (types.is_decimal, "float"),
        (types.is_boolean, "logical"),
        (_fits_int32, "integer"),
        (types.is_integer, "integer64"),
        (types.is_string, "string"),
        (types.is_large_string, "string"),
        (types.is_date, "date"),
        (types.is_timestamp, "datetime"),
    ):
        if is_type(arrow_type):
            return ColumnFacts(name, column_type)
    return None


def _fits_int32(arrow_type: Any) -> bool:
    types = arrow_module("pyarrow").types
    small = types.is_integer(arrow_type) and arrow_type.bit_width <= 32
    return small and not types.is_uint32(arrow_type)


@dataclass(frozen=True)
class TableColumns:
    layout: Layout
    response: str | None = None
    # Replacements for missing values: a string, or a number (of days, of seconds).
    fill_values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    accepted: AcceptedValues = ()

    @property
    def names(self) -> list[str]:
        return list(self.layout.slots)

    @cached_property
    def row_bytes(self) -> int:
        strings = sum(facts.type == "string" for facts in self.layout.facts.values())
        return self.layout.row_bytes + strings * _STRING_BYTES

    @property
    def batch_rows(self) -> int:
        # Each column takes time of its own, whatever the number of rows.
        together = 1 + len(self.layout.slots) // _MANY_COLUMNS
        return max(1, BATCH_BYTES * together // max(1, self.row_bytes))

    @cached_property
    def _scalars(self) -> list[dict[str, int]]:
        """Return columns of one number per row, without the response, and their places, by matrix."""
        found: list[dict[str, int]] = [{} for _ in self.layout.dtypes]
        for name, slot in sorted(self.layout.slots.items(), key=lambda item: item[1].start):
            if slot.facts.shape == () and name not in (self.response, *self.layout.tables):
                found[slot.matrix][name] = slot.start
        return found

    def read(self, batch: Any, locate: _Locate) -> Iterator[Matrices]:
        """Turn a ``pyarrow.RecordBatch`` into matrices of parts of it, which are only to be read.

        Raises InputError for a value that is missing without a replacement, does not fit its type, or is not accepted.
        """
        # One column may stay in Arrow's memory.
        several = [names if len(names) > 1 else {} for names in self._scalars]
        plain = [
            choose_plain(batch, *each) for each in zip(several, self.layout.dtypes, strict=True)
        ]
        rows = max(1, BATCH_BYTES // max(1, self.row_bytes))
        for first in range(0, batch.num_rows, rows):
            part = batch.slice(first, rows)

            def locate_here(row: int, first: int = first) -> str:
                return locate(first + row)

            matrices = list(self.layout.empty(part.num_rows))
            with np.errstate(over="raise"):
                done = self._read_plain([each.slice(first, rows) for each in plain], matrices)
                for name, slot in self.layout.slots.items():
                    if name not in done:
                        self._read_column(part.column(name), slot, matrices, locate_here)
            check_columns(self.layout, tuple(matrices), self.accepted, locate_here)
            yield tuple(matrices)

    def _read_plain(self, plain: list[Any], matrices: list[npt.NDArray[Any]]) -> set[str]:
        """Return the names of the columns that were read: those without values that are missing or too large."""
        done = set[str]()
        for columns, places, matrix in zip(plain, self._scalars, matrices, strict=True):
            names, values = columns.schema.names, numbers_of(columns)
            try:
                put_columns(matrix, [places[name] for name in names], values)
            except FloatingPointError:
                continue
            done.update(compress(names, ~np.isnan(values.min(axis=0))))
        return done

    def _read_column(
        self, column: Any, slot: ColumnSlot, matrices: list[Any], locate: _Locate
    ) -> None:
        name, target = slot.facts.name, slot.of(matrices)
        column = arrow_module("pyarrow").chunked_array([column])
        values, missing = self._values(column, slot.facts, locate)
        if missing is not None:
            values = self._fill(values, missing, slot.facts, locate)
        values = values.reshape(target.shape)
        try:
            if target.shape == matrices[slot.matrix].shape:
                # A column that is a whole matrix may stay in Arrow's memory.
                matrices[slot.matrix] = values.astype(target.dtype, copy=False)
            else:
                target[...] = values
        except FloatingPointError:
            raise _too_large(name, values, locate) from None
        if name == self.response and slot.facts.type in ("float", "double"):
            _check_finite(name, slot.of(matrices), locate)

    def _values(self, column: Any, facts: ColumnFacts, locate: _Locate) -> _Masked:
        if facts.name in self.layout.tables:
            return _codes_of(column, len(self.layout.tables[facts.name]), locate)
        try:
            return values_of(column, facts)
        except arrow_module("pyarrow").ArrowException as error:
            raise InputError(
                f"The column `{facts.name}` has a value that is not {facts.type}, in {locate(0)} or below: {error}",
                "Give another type in `types`.",
                argument=facts.name,
            ) from error

    def _fill(
        self, values: npt.NDArray[Any], missing: _Mask, facts: ColumnFacts, locate: _Locate
    ) -> npt.NDArray[Any]:
        if facts.name not in self.fill_values:
            raise InputError(
                f"The column `{facts.name}` has a missing value in {locate(int(missing.argmax()))}.",
                _remedy_for_missing(facts, self.response),
                argument=facts.name,
            )
        fill_value = self.fill_values[facts.name]
        if facts.name in self.layout.tables:
            fill_value = self.layout.tables[facts.name].tolist().index(fill_value)
        elif isinstance(fill_value, str):
            fill_value = fill_value.encode()
        # Days are whole numbers here.
        with_fractions = values.dtype.kind == "i" and isinstance(fill_value, float)
        filled = np.array(values, np.float64 if with_fractions else values.dtype)
        filled[missing] = fill_value
        return filled


def values_of(column: Any, facts: ColumnFacts) -> _Masked:
    """Return a column's values, and a mask of missing values or None."""
    pyarrow = arrow_module("pyarrow")
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = column.is_null().to_numpy() if column.null_count else None
    if facts.shape:
        return _lists(column, facts, missing)
    if facts.type == "string":
        if pyarrow.types.is_boolean(column.type):
            # As R writes them.
            column = arrow_module("pyarrow.compute").utf8_upper(column.cast(pyarrow.string()))
        elif not pyarrow.types.is_large_string(column.type):
            column = column.cast(pyarrow.string())
        return column.cast(pyarrow.large_binary()).to_numpy(), missing
    values = _numbers(column, facts.type, missing is not None)
    # NaN counts as missing, as in R; a minimum is the fastest way to find it.
    if values.dtype.kind == "f" and np.isnan(values.min(initial=0)):
        nan = np.isnan(values)
        missing = nan if missing is None else nan | missing
    return values, missing


def _codes_of(column: Any, labels: int, locate: _Locate) -> _Masked:
    missing = column.is_null().to_numpy() if column.null_count else None
    chunks = [chunk.indices.fill_null(0).to_numpy() for chunk in column.chunks]
    codes = np.concatenate(chunks).astype(np.int32, copy=False)
    unknown = (codes < 0) | (codes >= labels)
    if unknown.any():
        raise InputError(
            f"A dictionary has no value for its code in {locate(int(unknown.argmax()))}.",
            "Write the file again.",
            argument="paths",
        )
    return codes, missing


def _numbers(column: Any, column_type: str, has_nulls: bool) -> npt.NDArray[Any]:
    pyarrow = arrow_module("pyarrow")
    types = pyarrow.types
    per_second = None
    if column_type == "datetime":
        if not types.is_timestamp(column.type):
            column = column.cast(pyarrow.timestamp("us"))
        per_second = _PER_SECOND[column.type.unit]
        column = column.cast(pyarrow.int64())
    elif column_type == "date":
        column = column.cast(pyarrow.date32()).cast(pyarrow.int32())
    elif column_type == "logical":
        column = column.cast(pyarrow.bool_()).cast(pyarrow.int32())
    elif column_type in ("integer", "integer64"):
        column = column.cast(arrow_type_of(column_type))
    elif types.is_string(column.type) or types.is_large_string(column.type):
        column = without_overflows(column.cast(pyarrow.float64()), column)
    elif not types.is_float32(column.type):
        column = column.cast(pyarrow.float64())
    if has_nulls:
        column = column.fill_null(pyarrow.scalar(0, column.type))
    values = column.to_numpy()
    return values if per_second is None else values / per_second


def without_overflows(numbers: Any, texts: Any) -> Any:
    """Replace infinities that were written with digits (1e999) by the largest double, which 32 bits reject later."""
    pyarrow, compute = arrow_module("pyarrow"), arrow_module("pyarrow.compute")
    written = compute.match_substring_regex(texts, "[0-9]")
    largest = compute.multiply(compute.sign(numbers), pyarrow.scalar(sys.float_info.max))
    return compute.if_else(compute.and_kleene(compute.is_inf(numbers), written), largest, numbers)


def _lists(column: Any, facts: ColumnFacts, missing: _Mask | None) -> _Masked:
    pyarrow = arrow_module("pyarrow")
    width = facts.width
    # flatten() would leave out missing lists; .values ignores the slice of the table.
    chunks = [
        chunk.values.slice(chunk.offset * width, len(chunk) * width) for chunk in column.chunks
    ]
    inner = pyarrow.chunked_array(chunks, column.type.value_type)
    values, inner_missing = values_of(inner, ColumnFacts(facts.name, facts.type))
    if inner_missing is not None:
        rows = inner_missing.reshape(-1, width).any(axis=1)
        missing = rows if missing is None else rows | missing
    return values.reshape(-1, width), missing


def _remedy_for_missing(facts: ColumnFacts, response: str | None) -> str:
    if facts.name == response:
        return "Remove the rows without a response."
    value = '"unknown"' if facts.type == "string" else "0"
    return (
        f"Give a value to take instead, impute = list(`{facts.name}` = {value}); or remove such rows, or leave the "
        "column out of `features`."
    )


def _too_large(name: str, values: Any, locate: _Locate) -> InputError:
    rows = values.reshape(len(values), -1)
    beyond = (np.isfinite(rows) & (np.abs(rows) > np.finfo(np.float32).max)).any(axis=1)
    return InputError(
        f"The column `{name}` has a value beyond 3.4e38, the largest 32-bit number, in "
        f"{locate(int(beyond.argmax()))}.",
        "Rescale the column or remove these rows.",
        argument=name,
    )


def _check_finite(name: str, target: Any, locate: _Locate) -> None:
    infinite = np.isinf(target).any(axis=1)
    if infinite.any():
        raise InputError(
            f"The response `{name}` is infinite in {locate(int(infinite.argmax()))}, "
            "from which nothing can be learnt.",
            "Rescale the response or remove these rows.",
            argument=name,
        )
