"""Where columns are kept: few arrays of rows, one per dtype, in which columns stand side by side.

Gathering a batch then is one contiguous copy per row instead of one cache miss per value, and what crosses into
TensorFlow is a handful of tensors whatever the number of columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import ColumnFacts

# dtype of the matrix that keeps a column; strings with a table are kept as codes.
_KEPT_AS: Mapping[str, Any] = {
    "float32": np.float32,
    "float64": np.float64,
    "int32": np.int32,
    "int64": np.int64,
    "string": np.object_,
}
_CODES = np.dtype(np.int32)

# Bytes that a string of TensorFlow takes beside its letters.
_STRING_BYTES = 24


@dataclass(frozen=True)
class Place:
    """Where a column is kept.

    Args:
        matrix: Position of the matrix.
        start: Its first column there.
        facts: What it is.
    """

    matrix: int
    start: int
    facts: ColumnFacts

    @property
    def width(self) -> int:
        """How many columns of the matrix it takes."""
        return width(self.facts)


class LaidOut(Protocol):
    """Anything whose columns are kept in matrices."""

    @property
    def places(self) -> Mapping[str, Place]:
        """Where each column is kept, by name, in the order of the columns."""
        ...

    @property
    def tables(self) -> Mapping[str, npt.NDArray[np.object_]]:
        """The strings that codes stand for, by name of the column."""
        ...


@dataclass(frozen=True)
class Layout:
    """Columns without their values.

    Args:
        dtypes: dtype of each matrix; ``object`` holds strings as bytes.
        widths: Number of columns of each matrix.
        places: Where each column is kept, by name, in the order of the columns.
        tables: The strings that codes stand for, by name of the column.
    """

    dtypes: tuple[np.dtype[Any], ...]
    widths: tuple[int, ...]
    places: Mapping[str, Place]
    tables: Mapping[str, npt.NDArray[np.object_]] = field(
        default_factory=dict[str, npt.NDArray[np.object_]]
    )

    @property
    def row_bytes(self) -> int:
        """Size of one example in bytes; of a string that of its pointer."""
        return sum(
            dtype.itemsize * width for dtype, width in zip(self.dtypes, self.widths, strict=True)
        )

    @cached_property
    def handed_on_bytes(self) -> int:
        """Size of one example in bytes as TensorFlow gets it, about: strings in place of their codes."""
        strings = sum(
            self.places[name].width * (_STRING_BYTES + sum(map(len, table)) // max(1, len(table)))
            for name, table in self.tables.items()
        )
        return self.row_bytes + strings

    def empty(self, rows: int) -> tuple[npt.NDArray[Any], ...]:
        """Make matrices for some rows, with any values."""
        return tuple(
            np.empty((rows, width), dtype)
            for dtype, width in zip(self.dtypes, self.widths, strict=True)
        )


def lay_out(
    columns: Iterable[ColumnFacts], tables: Mapping[str, npt.NDArray[np.object_]] | None = None
) -> Layout:
    """Choose a place for every column.

    Args:
        columns: At least one column, each with a name of its own.
        tables: The strings that codes stand for, by name, for the strings that are kept as codes.

    Returns:
        The layout: one matrix per dtype, single values before those with a shape, in the order of their names.
    """
    tables = tables or {}
    columns = list(columns)
    kept = {column.name: kept_as(column, column.name in tables) for column in columns}
    dtypes = sorted(set(kept.values()), key=lambda dtype: dtype.name)
    places = _places(columns, kept, dtypes)
    widths = tuple(
        sum(place.width for place in places.values() if place.matrix == index)
        for index in range(len(dtypes))
    )
    return Layout(tuple(dtypes), widths, places, tables)


def _places(
    columns: Collection[ColumnFacts],
    kept: Mapping[str, np.dtype[Any]],
    dtypes: list[np.dtype[Any]],
) -> dict[str, Place]:
    # Single values come first in every matrix, so that one operation takes them apart; in the order of their names,
    # in which layers put columns side by side, so that they can be taken as they stand.
    taken = [0] * len(dtypes)
    places: dict[str, Place] = {}
    for column in sorted(columns, key=lambda each: (each.shape != (), each.name)):
        matrix = dtypes.index(kept[column.name])
        places[column.name] = Place(matrix, taken[matrix], column)
        taken[matrix] += width(column)
    return {column.name: places[column.name] for column in columns}


def kept_as(column: ColumnFacts, as_codes: bool) -> np.dtype[Any]:
    """Say in which dtype a column is kept.

    Args:
        column: The column.
        as_codes: Whether its strings are kept as codes into a table.
    """
    return _CODES if as_codes else np.dtype(_KEPT_AS[column.dtype])


def width(column: ColumnFacts) -> int:
    """How many values one example has in a column."""
    return int(np.prod(column.shape, dtype=np.int64))
