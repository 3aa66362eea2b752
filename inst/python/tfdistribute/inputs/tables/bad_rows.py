"""Removal of unusable rows from Arrow tables."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import ColumnFacts
from tfdistribute.inputs.tables.arrow_columns import (
    TableColumns,
    arrow_type_of,
    values_of,
    without_overflows,
)
from tfdistribute.storage.buckets import arrow_module

# Number of skipped rows whose places are reported.
PLACES_SHOWN = 5

_LARGEST = np.finfo(np.float32).max


def drop_bad_rows(table: Any, columns: TableColumns) -> tuple[Any, dict[int, str]]:
    pyarrow = arrow_module("pyarrow")
    reasons: dict[int, str] = {}
    kept: dict[str, Any] = {}
    for name, slot in columns.layout.slots.items():
        column, unfit = _typed(table.column(name), slot.facts)
        kept[name] = column
        values, missing = values_of(column, slot.facts)
        empty = np.zeros(len(unfit), bool) if missing is None else missing & ~unfit
        empty &= name not in columns.fill_values
        for bad, reason in (
            (unfit | _too_large(values, unfit | empty), f"no value of its type in `{name}`"),
            (empty, f"no value in `{name}`"),
            (_infinite(values) if name == columns.response else empty, f"`{name}` is infinite"),
        ):
            for row in np.flatnonzero(bad).tolist():
                reasons.setdefault(row, reason)
    good = np.ones(table.num_rows, bool)
    good[list(reasons)] = False
    return pyarrow.table(kept).filter(pyarrow.array(good)), dict(sorted(reasons.items()))


def _typed(column: Any, facts: ColumnFacts) -> tuple[Any, npt.NDArray[np.bool_]]:
    pyarrow = arrow_module("pyarrow")
    wanted, is_binary = arrow_type_of(facts.type), pyarrow.types.is_binary(column.type)

    def cast(values: Any) -> Any:
        return (values.cast(pyarrow.string()) if is_binary else values).cast(wanted)

    unfit = np.zeros(len(column), bool)
    try:
        if is_binary:
            return _finite(cast(column), column, facts), unfit
        values_of(column, facts)
        return column, unfit
    except pyarrow.ArrowException:
        pass
    values: list[Any] = []
    for value in column:
        try:
            values.append(cast(value).as_py())
        except pyarrow.ArrowException:
            values.append(None)
    typed = pyarrow.chunked_array([pyarrow.array(values, wanted)])
    if is_binary:
        typed = _finite(typed, column, facts)
    return typed, typed.is_null().to_numpy() & ~column.is_null().to_numpy()


def _finite(numbers: Any, texts: Any, facts: ColumnFacts) -> Any:
    return without_overflows(numbers, texts) if facts.type in ("float", "double") else numbers


def _too_large(values: npt.NDArray[Any], known: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    if values.dtype != np.float64:
        return np.zeros(len(known), bool)
    rows = values.reshape(len(known), -1)
    return (np.isfinite(rows) & (np.abs(rows) > _LARGEST)).any(axis=1) & ~known


def _infinite(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind != "f":
        return np.zeros(len(values), bool)
    return np.isinf(values.reshape(len(values), -1)).any(axis=1)
