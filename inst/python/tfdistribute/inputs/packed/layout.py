"""Layout of packed columns: one matrix of rows per dtype.

Gathering a batch is then one contiguous copy per row instead of one cache miss per value, and TensorFlow gets a
handful of tensors, however many columns there are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import Accepted, AcceptedValues, ColumnFacts, Interval

Matrices = tuple[npt.NDArray[Any], ...]
Tables = Mapping[str, npt.NDArray[np.object_]]

Values = npt.NDArray[Any]

# TensorFlow reads memory in place if it begins at a multiple of as many bytes.
_ALIGNMENT = 64

# Overhead of a TensorFlow string in bytes.
_STRING_BYTES = 24


def _allocate(size: int) -> Values:
    return np.empty(size, np.uint8)


@dataclass(frozen=True)
class ColumnSlot:
    matrix: int
    start: int
    facts: ColumnFacts

    def of(self, matrices: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return a view of the column's values, of shape [rows, width]."""
        return matrices[self.matrix][:, self.start : self.start + self.facts.width]


@dataclass(frozen=True)
class Layout:
    dtypes: tuple[np.dtype[Any], ...]  # Of each matrix; ``object`` holds strings as bytes.
    widths: tuple[int, ...]
    slots: Mapping[str, ColumnSlot]
    # The strings behind codes.
    tables: Tables = field(default_factory=dict[str, npt.NDArray[np.object_]])

    @classmethod
    def of(cls, columns: Iterable[ColumnFacts], tables: Tables | None = None) -> "Layout":
        """Lay columns out: one matrix per dtype, scalars before arrays, each sorted by name."""
        columns, tables = list(columns), tables or {}
        dtypes = {column.name: _dtype(column, column.name in tables) for column in columns}
        matrices = sorted(set(dtypes.values()), key=lambda dtype: dtype.name)
        # Scalars come first in every matrix, so that one operation unpacks them. They are sorted by name, the order in
        # which models concatenate columns, so that a model can use the matrix directly.
        widths = [0] * len(matrices)
        slots: dict[str, ColumnSlot] = {}
        for column in sorted(columns, key=lambda each: (each.shape != (), each.name)):
            matrix = matrices.index(dtypes[column.name])
            slots[column.name] = ColumnSlot(matrix, widths[matrix], column)
            widths[matrix] += column.width
        in_order = {column.name: slots[column.name] for column in columns}
        return cls(tuple(matrices), tuple(widths), in_order, tables)

    def join(self, other: "Layout") -> "Layout":
        """Return a layout with the matrices of another one after its own, whose columns replace columns of one name."""
        count = len(self.dtypes)
        slots = {
            name: replace(slot, matrix=count + slot.matrix) for name, slot in other.slots.items()
        }
        return Layout(
            self.dtypes + other.dtypes,
            self.widths + other.widths,
            {**self.slots, **slots},
            {name: table for name, table in self.tables.items() if name not in slots},
        )

    @property
    def facts(self) -> dict[str, ColumnFacts]:
        return {name: slot.facts for name, slot in self.slots.items()}

    @property
    def row_bytes(self) -> int:
        """Bytes per example; a string counts as its pointer."""
        return sum(
            dtype.itemsize * width for dtype, width in zip(self.dtypes, self.widths, strict=True)
        )

    @cached_property
    def tensor_row_bytes(self) -> int:
        """Approximate bytes per example in TensorFlow, where strings replace their codes."""
        strings = sum(
            self.slots[name].facts.width
            * (_STRING_BYTES + sum(map(len, table)) // max(1, len(table)))
            for name, table in self.tables.items()
        )
        return self.row_bytes + strings

    def empty(self, rows: int, allocate: Callable[[int], Values] = _allocate) -> Matrices:
        """Make matrices whose values are not set, in memory of at least as many bytes from ``allocate``."""
        return tuple(
            _aligned(rows, width, dtype, allocate)
            for dtype, width in zip(self.dtypes, self.widths, strict=True)
        )


def _aligned(
    rows: int, width: int, dtype: np.dtype[Any], allocate: Callable[[int], Values]
) -> Values:
    if dtype.hasobject:
        return np.empty((rows, width), dtype)
    size = rows * width * dtype.itemsize
    memory = allocate(size + _ALIGNMENT)
    first = -memory.ctypes.data % _ALIGNMENT
    return memory[first : first + size].view(dtype).reshape(rows, width)


def _dtype(column: ColumnFacts, as_codes: bool) -> np.dtype[Any]:
    if as_codes:
        return np.dtype(np.int32)
    return np.dtype(np.object_ if column.dtype == "string" else column.dtype)


def check_columns(
    layout: Layout,
    matrices: Matrices,
    accepted: AcceptedValues,
    locate: Callable[[int], str],
    chosen: Any = slice(None),
) -> None:
    """Check ``chosen`` rows of the columns of a layout; ``locate`` returns the place of one of them."""
    for name, each in accepted:
        if name not in layout.slots:
            continue
        values, table = layout.slots[name].of(matrices)[chosen], layout.tables.get(name)
        # Few labels stand for many rows, and not all of them need to be there.
        if table is not None:
            others = not_accepted(table, each)
            if not others.any() or not others[values].any():
                continue
            values = table[values]
        check_values(values, each, locate)


def check_values(values: Values, accepted: Accepted, locate: Callable[[int], str]) -> None:
    """Check the values of rows, of which strings may be bytes; ``locate`` returns the place of a row."""
    others = not_accepted(values, accepted)
    if others.any():
        row = int(others.reshape(len(values), -1).any(axis=1).argmax())
        found = dict.fromkeys(_text(value) for value in values[others].tolist())
        if accepted.note is None:
            raise accepted.error(list(found), locate(row))
        accepted.note(list(found))


def not_accepted(values: Values, accepted: Accepted) -> npt.NDArray[np.bool_]:
    if isinstance(accepted.values, (range, Interval)):
        # NaN is in no interval.
        return ~((values >= accepted.values.start) & (values < accepted.values.stop))
    if values.dtype != np.object_:
        return np.isin(values, list(accepted.values), invert=True)
    listed = values.ravel().tolist()
    others = {value for value in set(listed) if _text(value) not in accepted.values}
    if not others:
        return np.zeros(values.shape, np.bool_)
    return np.array([value in others for value in listed]).reshape(values.shape)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
