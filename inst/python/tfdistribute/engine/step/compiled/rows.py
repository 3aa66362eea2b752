"""Rows of tables in a compiled step, which are looked up, and updated once for all equal rows of a batch.

XLA has no results of unknown size, so equal rows stay in the batch, and one of them stands for all. A table has a
place for each of its rows, where every row of the batch writes its position. The last one stands for the others.
"""

from collections.abc import Callable, Collection
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import walk
from tfdistribute.engine.step.compiled import lookups
from tfdistribute.engine.step.compiled.lookups import NotCompilableError

raw = tf.raw_ops

# A run begins with new places, which takes 0.03 s for so many rows.
MOST_ROWS = 2**24


def make_places(operations: Collection[Any]) -> dict[str, Any]:
    """Return the places of tables, by the operations that find equal rows with them; or NotCompilableError."""
    rows = {name: _rows(table) for name, table in lookups.tables(operations).items()}
    if sum(rows.values()) > MOST_ROWS:
        raise NotCompilableError(f"its tables have more than {MOST_ROWS} rows")
    return {name: tf.zeros([count], tf.int32) for name, count in rows.items()}


def _rows(table: Any) -> int:
    source = walk.behind(table, ("Identity",)).op
    shape = tf.TensorShape(source.get_attr("shape") if source.type == "VarHandleOp" else None)
    if not shape.is_fully_defined():
        raise NotCompilableError(f"the size of the table {source.name!r} is not known")
    return shape[0]


class Rows:
    """Replaces the lookups and updates of one step; ``places`` are those after it."""

    def __init__(self, places: dict[str, Any]) -> None:
        self.places = dict(places)
        self._representatives: dict[str, Any] = {}

    def replace(self, operation: Any, inputs: list[Any]) -> list[Any] | None:
        """Return the results of an operation; None if XLA computes it as TensorFlow does."""
        if operation.type == "Unique":
            return self._find_equal(operation, inputs[0])
        known = _UPDATES.get(operation.type)
        update = None if known is None else known(operation, inputs)
        if update is None:
            return None
        index = lookups.INDICES[operation.type]
        indices, gradient = inputs[index], inputs[index - 1]
        unique = walk.behind(operation.inputs[index], lookups.COPIES).op
        if unique.name not in self._representatives:
            raise NotCompilableError(f"{operation.type} {operation.name!r} may update a row twice")
        # Only rows that stand for others have gradients, which are sums.
        gradient = tf.gather(gradient, self._representatives[unique.name])
        tables = [each for each in inputs if each.dtype == tf.resource]
        rows = [
            raw.ResourceGather(resource=each, indices=indices, dtype=gradient.dtype)
            for each in tables
        ]
        for table, new in zip(tables, update(gradient, *rows), strict=True):
            raw.ResourceScatterUpdate(resource=table, indices=indices, updates=new)
        return []

    def _find_equal(self, unique: Any, values: Any) -> list[Any]:
        numbers = values[:, tf.newaxis]
        places = self.places[unique.name]
        places = tf.tensor_scatter_nd_update(places, numbers, tf.range(tf.size(values)))
        self.places[unique.name] = places
        self._representatives[unique.name] = representatives = tf.gather_nd(places, numbers)
        return [values, tf.cast(representatives, unique.outputs[1].dtype)]


# Computes the new rows of a variable and its slots from their gradient and the rows.
Update = Callable[..., list[Any]]


def _adagrad(operation: Any, inputs: list[Any]) -> Update | None:
    rate, epsilon = inputs[2], inputs[3] if operation.type.endswith("V2") else 0.0

    def update(gradient: Any, weights: Any, sums: Any) -> list[Any]:
        sums += tf.square(gradient)
        return [weights - rate * gradient / (tf.sqrt(sums) + epsilon), sums]

    return update if operation.get_attr("update_slots") else None


def _ftrl(operation: Any, inputs: list[Any]) -> Update | None:
    power = tf.get_static_value(inputs[-1])
    if operation.get_attr("multiply_linear_by_lr") or power is None or float(power) != -0.5:
        return None
    rate, l1, l2, shrinkage = *inputs[5:8], inputs[8] if operation.type.endswith("V2") else 0.0

    def update(gradient: Any, weights: Any, sums: Any, linear: Any) -> list[Any]:
        root, sums = tf.sqrt(sums), sums + tf.square(gradient)
        shrunk = gradient + 2.0 * shrinkage * weights
        linear += shrunk - (tf.sqrt(sums) - root) / rate * weights
        weights = (tf.clip_by_value(linear, -l1, l1) - linear) / (tf.sqrt(sums) / rate + 2.0 * l2)
        return [weights, sums, linear]

    return update


_UPDATES: dict[str, Callable[[Any, list[Any]], Update | None]] = {
    "ResourceSparseApplyAdagrad": _adagrad,
    "ResourceSparseApplyAdagradV2": _adagrad,
    "ResourceSparseApplyFtrl": _ftrl,
    "ResourceSparseApplyFtrlV2": _ftrl,
}
CHANGED = frozenset(("Unique", *_UPDATES))
