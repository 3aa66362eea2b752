"""What is known about the columns of an input before TensorFlow starts. Plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# What a column holds, and the dtype of its tensor.
TYPES: Mapping[str, str] = {
    "float": "float32",
    "integer": "int32",
    "integer64": "int64",
    "string": "string",
    "logical": "int32",
    "date": "float32",
    "datetime": "float64",
}


@dataclass(frozen=True)
class ColumnFacts:
    """One column as models meet it.

    Args:
        name: Key of the feature, or name of the response; any text.
        type: One of ``TYPES``: "float", "integer", "integer64", "string", "logical" (0 and 1), "date"
            (days since 1970-01-01), "datetime" (seconds since then).
        shape: Shape of one example: ``()`` for a single value, ``(k,)`` for a row of a matrix.
        levels: The values that a column of strings may take, in their order; None where they are not known.
    """

    name: str
    type: str
    shape: tuple[int, ...] = ()
    levels: tuple[str, ...] | None = None

    @property
    def dtype(self) -> str:
        """Name of the TensorFlow dtype of the column's tensor."""
        return TYPES[self.type]


@dataclass(frozen=True)
class InputFacts:
    """One input as verbs and models meet it; None where a user's function hides it.

    Args:
        features: The features by name, in their order.
        label: The response; also None where there is none.
        rows: Examples of one epoch.
        epochs: Passes over the rows; None also where the input repeats without end.
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
