"""Rows of tables in a compiled step, which are looked up, and updated once for all equal rows of a batch.

XLA has no results of unknown size, so equal rows stay in the batch, and one of them stands for all. A table has a
place for each of its rows, where every row of the batch writes its position. The last one stands for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import walk

raw = tf.raw_ops

_SAME = ("Identity", "Reshape", "Cast")
_SIZES = ("Shape", "Size")
# A run begins with new places, which takes 0.03 s for so many rows.
MOST_ROWS = 2**24


class NotCompilableError(Exception):
    """A step cannot be compiled, for the reason in the text."""


def make_places(operations: Collection[Any]) -> dict[str, Any]:
    """Return the places of tables, by the operations that find equal rows with them.

    NotCompilableError if such an operation is not part of a lookup or an update.
    """
    step = {each.name for each in operations}
    unique = [each for each in operations if each.type == "Unique"]
    return {each.name: tf.zeros([_rows(_table(each, step))], tf.int32) for each in unique}


def _rows(table: Any) -> int:
    source = walk.behind(table, ("Identity",)).op
    if source.type != "VarHandleOp":
        raise NotCompilableError(f"the size of the table {source.name!r} is not known")
    rows = source.get_attr("shape").dim[0].size
    if rows > MOST_ROWS:
        raise NotCompilableError(f"the table {source.name!r} has more than {MOST_ROWS} rows")
    return rows


def _table(unique: Any, step: Collection[str]) -> Any:
    """Return the table whose rows are looked up, or updated, once each.

    Other operations would find equal rows among them.
    """
    tables = []
    for reader, position in _readers(unique.outputs[0], step):
        if _INDICES.get(reader.type) == position and _is_by_row(reader, unique, step):
            tables.append(reader.inputs[0])
        elif reader.type not in _SIZES or _becomes_number(reader, step):
            tables.clear()
            break
    if not tables:
        raise NotCompilableError(
            f"Unique {unique.name!r} has a result whose size depends on values"
        )
    return tables[0]


def _readers(tensor: Any, step: Collection[str]) -> list[tuple[Any, int]]:
    # Optimizers remove equal rows again.
    readers = walk.readers(tensor, (*_SAME, "Unique"))
    return [(each, position) for each, position in readers if each.name in step]


def _is_by_row(reader: Any, unique: Any, step: Collection[str]) -> bool:
    """Return whether an operation updates rows, or looks them up for the rows of the batch and nothing else."""
    return reader.type != "ResourceGather" or all(
        user.type == "Shape"
        or (
            user.type == "GatherV2"
            and walk.behind(user.inputs[1], _SAME).name == unique.outputs[1].name
        )
        for user, _ in _readers(reader.outputs[0], step)
    )


def _becomes_number(size: Any, step: Collection[str]) -> bool:
    """Return whether a size is used as other than a size."""
    whole = walk.descendants([size], False, lambda each: not _is_whole(each))
    return any(
        reader.type == "Cast" and reader.name in step and not _is_whole(reader)
        for each in whole
        for reader in walk.users(each)
    )


def _is_whole(operation: Any) -> bool:
    return all(each.dtype.is_integer for each in operation.outputs)


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
        index = _INDICES[operation.type]
        indices, gradient = inputs[index], inputs[index - 1]
        unique = walk.behind(operation.inputs[index], _SAME).op
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
# The input of an operation that holds the numbers of rows. Additions take equal rows, all but one of which are zero.
_INDICES = {
    "ResourceGather": 1,
    "ResourceScatterAdd": 1,
    "ResourceScatterSub": 1,
    "ResourceSparseApplyAdagrad": 4,
    "ResourceSparseApplyAdagradV2": 5,
    "ResourceSparseApplyFtrl": 4,
    "ResourceSparseApplyFtrlV2": 4,
}
CHANGED = frozenset(("Unique", *_UPDATES))
