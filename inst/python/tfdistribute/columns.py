"""Columns of an input as known before TensorFlow starts: names, types, shapes and levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute.errors import InputError

# The dtype of a column's tensor, by the column's type.
TYPES: Mapping[str, str] = {
    "float": "float32",
    "integer": "int32",
    "integer64": "int64",
    "string": "string",
    "logical": "int32",
    "date": "float32",
    "datetime": "float64",
}

# Values of one example: TensorFlow counts the elements of a tensor in 64 bits, and aborts beyond.
MOST_VALUES = 2**31 - 1

# The Arrow type as which a column is read if the user gives its type.
ARROW_TYPES: Mapping[str, str] = {
    "float": "float64",
    "integer": "int32",
    "integer64": "int64",
    "string": "string",
    "logical": "bool",
    "date": "date32",
    "datetime": "timestamp[us]",
}

# The type of a column, by the dtype of the array, tensor or record that holds it. NumPy keeps strings as objects.
TYPES_OF_DTYPES: Mapping[str, str] = {
    "float16": "float",
    "float32": "float",
    "float64": "float",
    "int8": "integer",
    "uint8": "integer",
    "int16": "integer",
    "uint16": "integer",
    "int32": "integer",
    "uint32": "integer64",
    "int64": "integer64",
    "bool": "logical",
    "string": "string",
    "object": "string",
}


def lossless_type(dtype: str) -> str | None:
    """Return the type of a tensor's column; None if a column of that type would have another dtype."""
    found = TYPES_OF_DTYPES.get(dtype)
    return found if found is not None and TYPES[found] == dtype else None


@dataclass(frozen=True)
class ColumnFacts:
    """One column.

    Args:
        name: Key of the feature, or name of the response; any text.
        type: One of ``TYPES``: "float", "integer", "integer64", "string", "logical" (0 and 1), "date"
            (days since 1970-01-01), "datetime" (seconds since then).
        shape: Shape of one example: ``()`` for a single value, ``(k,)`` for a row of a matrix.
        levels: The values that a column of strings may take, in their order; None if they are not known.
        as_labels: Whether models must read the levels themselves, and not their codes.
    """

    name: str
    type: str
    shape: tuple[int, ...] = ()
    levels: tuple[str, ...] | None = None
    as_labels: bool = False

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> ColumnFacts:
        """Read a column from the values that ``dataclasses.asdict()`` made of it, after JSON."""
        levels = values["levels"]
        return cls(
            values["name"],
            values["type"],
            tuple(values["shape"]),
            None if levels is None else tuple(levels),
            bool(values.get("as_labels")),
        )

    @property
    def dtype(self) -> str:
        """Name of the TensorFlow dtype of the column's tensor."""
        return TYPES[self.type]

    @property
    def width(self) -> int:
        """Values of one example."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Accepted:
    """The values that a model can use in a column.

    Args:
        values: Strings or whole numbers.
        error: Makes the error about other values, from a list of them and the place of the first, such as "row 7".
    """

    values: Collection[str] | Collection[int]
    error: Callable[[Sequence[Any], str], InputError]


# What a model accepts in columns of an input, by their names; a name may be there twice.
AcceptedValues = Sequence[tuple[str, Accepted]]


def show_values(values: Iterable[Any], most: int = 5) -> str:
    """Show the first values of a column in an error, strings in quotes."""
    shown = [f'"{value}"' if isinstance(value, str) else str(value) for value in values]
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")


def list_columns(names: Iterable[str]) -> str:
    """Name the first ten columns, as the remedy of an error about a missing column."""
    quoted = [f"`{name}`" for name in names]
    return f"The columns are {', '.join(quoted[:10])}{', ...' if len(quoted) > 10 else '.'}"


@dataclass(frozen=True)
class InputFacts:
    """Facts about one input; None for what a user's function does not reveal.

    Args:
        features: The features by name, in their order.
        label: The response; None also if there is none.
        rows: Examples of one epoch.
        epochs: Passes over the rows; None also if the input repeats without end.
        global_batch_size: Examples of one training step, summed over replicas.
        label_range: Smallest and largest value of a response of numbers.
        weights: The feature that holds each row's weight; it is not among the features.
    """

    features: Mapping[str, ColumnFacts] | None = None
    label: ColumnFacts | None = None
    rows: int | None = None
    epochs: int | None = None
    global_batch_size: int | None = None
    label_range: tuple[float, float] | None = None
    weights: ColumnFacts | None = None
