"""Columns of an input as known before TensorFlow starts: names, types, shapes and levels."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tfdistribute.errors import InputError

# Types of the columns of files, as users name them.
Type = Literal["float", "integer", "integer64", "string", "logical", "date", "datetime"]

# The dtype of a column's tensor, by the column's type.
TYPES: Mapping[str, str] = {
    "float": "float32",
    "double": "float64",
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
    "double": "float64",
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


# The label of a missing label, which belongs to no category of TensorFlow's columns. R has the same.
MISSING_LABEL = ""

# The classes of a logical response, by the numbers that hold it.
LOGICAL = ("FALSE", "TRUE")

# What the values of a column mean, by its type. Numbers are alike, as for predict.lm() of R.
KINDS: Mapping[str, str] = {
    "float": "numbers",
    "double": "numbers",
    "integer": "numbers",
    "integer64": "numbers",
    "logical": "logical",
    "string": "labels",
    "date": "dates",
    "datetime": "times",
}


def lossless_type(dtype: str) -> str | None:
    """Return the type of a tensor's column; None if a column of this type would have another dtype."""
    column_type = TYPES_OF_DTYPES.get(dtype)
    return column_type if column_type is not None and TYPES[column_type] == dtype else None


@dataclass(frozen=True)
class ColumnFacts:
    name: str
    type: str  # One of ``TYPES``; dates are days since 1970-01-01, date-times seconds since then.
    shape: tuple[int, ...] = ()
    levels: tuple[str, ...] | None = None  # In their order; None if they are not known.
    as_labels: bool = False  # Whether models must read the levels themselves, and not their codes.
    fill: Any = None  # Replacement for missing values that was computed from these rows.
    term: str | None = None  # R code that computes the column from others.

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "ColumnFacts":
        levels = values["levels"]
        return cls(
            values["name"],
            values["type"],
            tuple(values["shape"]),
            None if levels is None else tuple(levels),
            bool(values.get("as_labels")),
            values.get("fill"),
            values.get("term"),
        )

    @property
    def dtype(self) -> str:
        return TYPES[self.type]

    @property
    def width(self) -> int:
        return math.prod(self.shape)


class Interval(NamedTuple):
    """Numbers from ``start`` to below ``stop``."""

    start: float
    stop: float


@dataclass(frozen=True, eq=False)
class Accepted:
    values: Collection[str] | Collection[int] | Interval
    # From a list of other values, and the place of the first, such as "row 7".
    error: Callable[[Sequence[Any], str], InputError]
    # Called with the other values if they are no error.
    note: Callable[[Sequence[Any]], None] | None = None


# Types in which to read columns, by their names; None is the response.
ReadTypes = Mapping[str | None, str]


def by_name(types: ReadTypes, response: str | None) -> dict[str, str]:
    """Return the types in which to read columns, with the response under its own name."""
    named = {name: each for name, each in types.items() if name is not None}
    named.pop(response or "", None)
    return named | ({response: types[None]} if response is not None and None in types else {})


# What a model accepts in columns of an input, by their names; a name may be there twice.
AcceptedValues = Sequence[tuple[str, Accepted]]


def show_values(values: Iterable[Any], most: int = 5) -> str:
    texts = [f'"{value}"' if isinstance(value, str) else str(value) for value in values]
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


def class_numbers(names: Sequence[str]) -> list[int] | None:
    """Return the numbers that hold the classes of a response; None if the classes are no numbers."""
    if tuple(names) == LOGICAL:
        return [0, 1]
    try:
        numbers = [int(each) for each in names]
    except ValueError:
        return None
    return numbers if [str(each) for each in numbers] == list(names) else None


def list_columns(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"The columns are {', '.join(quoted[:10])}{', ...' if len(quoted) > 10 else '.'}"


@dataclass(frozen=True)
class InputFacts:
    """Facts about one input; None for facts that a user's function does not reveal."""

    features: Mapping[str, ColumnFacts] | None = None
    label: ColumnFacts | None = None  # None also if there is none.
    rows: int | None = None
    epochs: int | None = None  # None also if the input repeats without end.
    global_batch_size: int | None = None
    label_range: tuple[float, float] | None = None
    typed: bool = True  # Whether types tell more than dtypes, such as dates from numbers.
    # Feature that holds each row's weight; it is not among the features.
    weights: ColumnFacts | None = None
    # See ``values_of``; None if the rows are not in memory.
    values: Callable[[str], Any] | None = field(default=None, compare=False)

    def values_of(self, name: str) -> Any:
        """Return the values of a column, one per row; None if they are not in memory, or a function changes them."""
        known = [
            *(self.features or ()),
            *(each.name for each in (self.label, self.weights) if each),
        ]
        return self.values(name) if self.values is not None and name in known else None

    def check_rows(self) -> None:
        if self.rows == 0:
            raise InputError(
                "The input has no rows.", "Give data with at least one row.", argument="object"
            )
