"""Columns of Arrow tables as the package's columns: their types, and their values in matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.files.blocks import Matrices
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.inputs.tables.pyarrow_import import arrow_module

# What is copied from Arrow's columns into rows at once.
PIECE_BYTES = 2 * 2**20

# Bytes that a string takes beside its pointer, about.
_STRING_BYTES = 60

_PER_SECOND: Mapping[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def arrow_type_of(column_type: str) -> Any:
    """Say as what pyarrow reads a column whose type was given.

    Args:
        column_type: One of ``columns.TYPES``.
    """
    pyarrow = arrow_module("pyarrow")
    return {
        "float": pyarrow.float64(),
        "integer": pyarrow.int32(),
        "integer64": pyarrow.int64(),
        "string": pyarrow.string(),
        "logical": pyarrow.bool_(),
        "date": pyarrow.date32(),
        "datetime": pyarrow.timestamp("us"),
    }[column_type]


def column_facts(name: str, arrow_type: Any) -> ColumnFacts | None:
    """Say what a column of an Arrow type is.

    Args:
        name: Its name.
        arrow_type: Its ``pyarrow.DataType``.

    Returns:
        The column; None where TensorFlow has no such type.
    """
    types = arrow_module("pyarrow").types
    if types.is_dictionary(arrow_type):
        return column_facts(name, arrow_type.value_type)
    if types.is_fixed_size_list(arrow_type):
        inner = column_facts(name, arrow_type.value_type)
        if inner is None or inner.shape or inner.type not in ("float", "integer", "integer64"):
            return None
        return ColumnFacts(name, inner.type, (arrow_type.list_size,))
    for belongs, column_type in (
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
        if belongs(arrow_type):
            return ColumnFacts(name, column_type)
    return None


def _fits_int32(arrow_type: Any) -> bool:
    types = arrow_module("pyarrow").types
    small = types.is_integer(arrow_type) and arrow_type.bit_width <= 32
    return small and not types.is_uint32(arrow_type)


@dataclass(frozen=True)
class TableColumns:
    """The columns that are taken from Arrow tables.

    Args:
        layout: Where they are kept.
        response: Name of the label; None: there is none.
        fillings: What stands for missing values, by name: a string, or a number (of days, of seconds).
    """

    layout: Layout
    response: str | None = None
    fillings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def names(self) -> list[str]:
        """Features and response."""
        return list(self.layout.places)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in memory, about."""
        strings = sum(place.facts.type == "string" for place in self.layout.places.values())
        return self.layout.row_bytes + strings * _STRING_BYTES

    @property
    def piece_rows(self) -> int:
        """How many rows are copied at once: few enough to stay in the processor's cache."""
        return max(1, PIECE_BYTES // max(1, self.row_bytes))

    def pieces(self, batches: Iterable[Any], path: str, first: int) -> Iterator[Matrices]:
        """Copy the rows of record batches, ``piece_rows`` at once.

        Args:
            batches: ``pyarrow.RecordBatch``es with at least these columns.
            path: The file that they come from.
            first: The row where they begin in it, from 0.

        Yields:
            As ``matrices`` returns.

        Raises:
            InputError: as ``matrices``.
        """
        pyarrow = arrow_module("pyarrow")
        for batch in batches:
            for start in range(0, batch.num_rows, self.piece_rows):
                piece = batch.slice(start, self.piece_rows)

                def place_of(row: int, begin: int = first + start) -> str:
                    return f'row {begin + row + 1} of "{path}"'

                yield self.matrices(pyarrow.Table.from_batches([piece]), place_of)
            first += batch.num_rows

    def matrices(self, table: Any, place_of: Callable[[int], str]) -> Matrices:
        """Copy a table.

        Args:
            table: ``pyarrow.Table`` with at least these columns.
            place_of: Says where a row of it stands, such as 'line 7 of "a.csv"'.

        Returns:
            One array of shape [rows, columns] for each matrix of the layout.

        Raises:
            InputError: a missing value that nothing stands for, or one that does not fit.
        """
        made = self.layout.empty(table.num_rows)
        for name, place in self.layout.places.items():
            values, missing = self._read(table.column(name), place.facts, place_of)
            if missing is not None:
                values = self._filled(values, missing, place.facts, place_of)
            target = made[place.matrix][:, place.start : place.start + place.width]
            try:
                with np.errstate(over="raise"):
                    target[...] = values.reshape(len(target), place.width)
            except FloatingPointError:
                raise _too_large(name, values, place_of) from None
            if name == self.response and place.facts.type == "float":
                _check_finite(name, target, place_of)
        return made

    def _read(
        self, column: Any, facts: ColumnFacts, place_of: Callable[[int], str]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
        try:
            return values_of(column, facts)
        except arrow_module("pyarrow").ArrowException as error:
            raise InputError(
                f"The column `{facts.name}` has a value that is not {facts.type}, in {place_of(0)} or below: {error}",
                "Give another type in `types`.",
                argument=facts.name,
            ) from error

    def _filled(
        self,
        values: npt.NDArray[Any],
        missing: npt.NDArray[np.bool_],
        facts: ColumnFacts,
        place_of: Callable[[int], str],
    ) -> npt.NDArray[Any]:
        if facts.name not in self.fillings:
            raise InputError(
                f"The column `{facts.name}` has a missing value in {place_of(int(missing.argmax()))}.",
                _remedy_for_missing(facts, self.response),
                argument=facts.name,
            )
        filling = self.fillings[facts.name]
        if isinstance(filling, str):
            filling = filling.encode()
        filled = np.array(values)
        filled[missing] = filling
        return filled


def values_of(
    column: Any, facts: ColumnFacts
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Read a column.

    Args:
        column: A ``pyarrow.ChunkedArray``.
        facts: What it is.

    Returns:
        Values, with anything where they are missing; and which rows these are, None where no value is missing.

    Raises:
        ArrowException: a value is of another type.
    """
    pyarrow = arrow_module("pyarrow")
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = column.is_null().to_numpy() if column.null_count else None
    if facts.shape:
        return _lists(column, facts, missing)
    if facts.type == "string":
        if not pyarrow.types.is_large_string(column.type):
            column = column.cast(pyarrow.string())
        return column.cast(pyarrow.large_binary()).to_numpy(), missing
    values = _numbers(column, facts.type, missing is not None)
    # NaN is a missing value, as in R; a sum is the fastest way to look for it.
    if values.dtype.kind == "f" and np.isnan(values.sum()):
        nan = np.isnan(values)
        if nan.any():
            missing = nan if missing is None else nan | missing
    return values, missing


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
    elif not types.is_float32(column.type):
        column = column.cast(pyarrow.float64())
    if has_nulls:
        column = column.fill_null(pyarrow.scalar(0, column.type))
    values = column.to_numpy()
    return values if per_second is None else values / per_second


def _lists(
    column: Any, facts: ColumnFacts, missing: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    pyarrow = arrow_module("pyarrow")
    width = facts.shape[0]
    if missing is not None:
        column = pyarrow.chunked_array([column.fill_null([0] * width).combine_chunks()])
    # flatten() looks at the slice of the table, .values would not.
    pieces = [chunk.flatten() for chunk in column.chunks]
    inner = pyarrow.chunked_array(pieces, column.type.value_type)
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
        f"Remove such rows, or say what to take instead: impute = list(`{facts.name}` = {value})."
    )


def _too_large(name: str, values: Any, place_of: Callable[[int], str]) -> InputError:
    rows = values.reshape(len(values), -1)
    beyond = (np.isfinite(rows) & (np.abs(rows) > np.finfo(np.float32).max)).any(axis=1)
    return InputError(
        f"The column `{name}` has a value beyond 3.4e38, the largest 32-bit number, in "
        f"{place_of(int(beyond.argmax()))}.",
        "Rescale the column or remove these rows.",
        argument=name,
    )


def _check_finite(name: str, target: Any, place_of: Callable[[int], str]) -> None:
    infinite = np.isinf(target).any(axis=1)
    if infinite.any():
        raise InputError(
            f"The response `{name}` is infinite in {place_of(int(infinite.argmax()))}, "
            "from which nothing can be learnt.",
            "Rescale the response or remove these rows.",
            argument=name,
        )
