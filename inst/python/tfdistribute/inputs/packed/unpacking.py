"""Packed rows back into columns, as operations of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfdistribute import engine
from tfdistribute.inputs.packed.layout import LaidOut


def taking_apart(
    packed: LaidOut, response: str | None, left_out: str | None, side_by_side: bool = False
) -> Callable[..., Any]:
    """Make the function that cuts matrices into columns, in TensorFlow.

    Args:
        packed: Columns that are kept as the rows' are.
        response: Name of the column that is the label; None: features only.
        left_out: Name of a column that is no feature either; None: there is none.
        side_by_side: Whether features that are numbers stay in their matrices, for models that cut them
            (``engine.packed_features``).

    Returns:
        A function for ``Dataset.map`` of (matrices, tables of strings), each in the order of ``packed``, that
        returns (features, label) or features. Matrices have one dimension of rows, or several.
    """
    cuts = {
        name: engine.features.ColumnSlice(place.matrix, place.start, place.facts.shape)
        for name, place in packed.places.items()
        if name != left_out
    }
    table_names = list(packed.tables)
    order = [name for name in cuts if name != response]
    kept = {
        name: cuts[name]
        for name in order
        if side_by_side and name not in packed.tables and packed.places[name].facts.type != "string"
    }

    def take_apart(matrices: tuple[Any, ...], tables: tuple[Any, ...]) -> Any:
        apart = {name: cut for name, cut in cuts.items() if name not in kept}
        columns = engine.features.slice_columns(matrices, apart)
        for name, table in zip(table_names, tables, strict=True):
            if name in columns:
                columns[name] = engine.tf.gather(table, columns[name])
        label = None if response is None else columns.pop(response)
        features = columns
        if kept:
            features = engine.features.pack(order, kept, matrices, columns)
        return features if response is None else (features, label)

    return take_apart
