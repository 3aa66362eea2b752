"""Packed batches back into columns, as operations of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfdistribute import engine
from tfdistribute.inputs.layout import LaidOut, Place


def taking_apart(packed: LaidOut, response: str | None, left_out: str | None) -> Callable[..., Any]:
    """Make the function that cuts a batch's matrices into columns, in TensorFlow.

    Args:
        packed: Columns that are kept as the batch's are.
        response: Name of the column that is the label; None: features only.
        left_out: Name of a column that is no feature either; None: there is none.

    Returns:
        A function for ``Dataset.map`` of (matrices, tables of strings), each in the order of ``packed``, that
        returns (features, label) or features.
    """
    places = {name: place for name, place in packed.places.items() if name != left_out}
    table_names = list(packed.tables)

    def take_apart(matrices: tuple[Any, ...], tables: tuple[Any, ...]) -> Any:
        by_name = dict(zip(table_names, tables, strict=True))
        singles = [_singles(matrix, index, packed) for index, matrix in enumerate(matrices)]
        columns = {
            name: _column(place, matrices, singles, by_name) for name, place in places.items()
        }
        if response is None:
            return columns
        label = columns.pop(response)
        return columns, label

    return take_apart


def _singles(matrix: Any, index: int, packed: LaidOut) -> list[Any]:
    """Take apart the columns of single values, which come first in a matrix, in one operation."""
    tf = engine.tf
    count = sum(p.matrix == index and p.facts.shape == () for p in packed.places.values())
    return tf.unstack(matrix[:, :count], num=count, axis=1) if count else []


def _column(
    place: Place, matrices: tuple[Any, ...], singles: list[list[Any]], tables: dict[str, Any]
) -> Any:
    tf = engine.tf
    facts = place.facts
    if facts.shape == ():
        values = singles[place.matrix][place.start]
    else:
        values = matrices[place.matrix][:, place.start : place.start + place.width]
        if len(facts.shape) > 1:
            values = tf.reshape(values, [-1, *facts.shape])
    if facts.name not in tables:
        return values
    return tf.gather(tables[facts.name], values)
