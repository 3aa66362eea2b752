"""Unpacking of columns as TensorFlow operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfdistribute import engine
from tfdistribute.inputs.packed.layout import Layout


def make_unpack(
    layout: Layout, label: str | None, dropped: str | None, packed: bool = False
) -> Callable[..., Any]:
    """Return a TensorFlow function that slices (matrices, string tables) into (features, label) or features.

    Matrices have one or more row dimensions. If ``packed``, numeric features stay in their matrices, for models that
    slice them (``engine.features``).
    """
    slices = {
        name: engine.features.ColumnSlice(slot.matrix, slot.start, slot.facts.shape)
        for name, slot in layout.slots.items()
        if name != dropped
    }
    table_names = list(layout.tables)
    order = [name for name in slices if name != label]
    in_matrices = {
        name: slices[name] for name in order if packed and layout.slots[name].facts.type != "string"
    }

    def unpack(matrices: tuple[Any, ...], tables: tuple[Any, ...]) -> Any:
        unpacked = {name: each for name, each in slices.items() if name not in in_matrices}
        columns = engine.features.slice_columns(matrices, unpacked)
        for name, table in zip(table_names, tables, strict=True):
            if name in columns:
                columns[name] = engine.tf.gather(table, columns[name])
        labels = None if label is None else columns.pop(label)
        features = columns
        if in_matrices:
            features = engine.features.pack(order, in_matrices, matrices, columns)
        return features if label is None else (features, labels)

    return unpack
