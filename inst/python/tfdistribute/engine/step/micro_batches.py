"""A batch in micro-batches, and the values and changes of variables that are added up over them."""

import functools
from collections.abc import Collection
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import effects
from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.errors import ModelError

v1 = tf.compat.v1

_ASSIGNMENTS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
_AGGREGATIONS = {tf.VariableAggregation.MEAN: "mean", tf.VariableAggregation.SUM: "sum"}


class Batch:
    """The features and labels of one replica's batch, in micro-batches of as equal size as possible.

    Tensors of rank 0, and anything else without rows, are the same for all. ``count``, as an attribute a tensor, is
    lower if there are fewer rows. ModelError if nothing has rows.
    """

    def __init__(self, values: Any, count: int) -> None:
        self.values = values
        self._is_whole = count == 1
        if self._is_whole:
            self.count = tf.constant(1)
            return
        counts = [_row_count(leaf) for leaf in tf.nest.flatten(values) if _has_rows(leaf)]
        if not counts:
            raise ModelError(
                "`micro_batches` splits the rows of a batch, and the input has no tensor with rows.",
                "Give features with a row for each example, or leave `micro_batches` out.",
            )
        message = "`micro_batches` needs features with a row for each example"
        with tf.control_dependencies([tf.debugging.assert_equal(counts, counts[0], message)]):
            self._rows = tf.identity(counts[0])
        self.count = tf.maximum(1, tf.minimum(count, self._rows))

    def micro_batch(self, index: Any) -> Any:
        if self._is_whole:
            return self.values
        begin = self._bound(index)
        size = self._bound(index + 1) - begin
        return tf.nest.map_structure(
            lambda leaf: _slice(leaf, begin, size) if _has_rows(leaf) else leaf, self.values
        )

    def share(self, index: Any) -> Any:
        if self._is_whole:
            return tf.constant(1.0)
        rows = self._bound(index + 1) - self._bound(index)
        # The mean over no rows is undefined for the whole batch, too.
        return tf.cast(rows, tf.float32) / tf.cast(self._rows, tf.float32)

    def _bound(self, index: Any) -> Any:
        return -((-index * self._rows) // self.count)


def row_count(values: Any) -> Any:
    """Return the number of rows of a batch, as its first tensor that has rows has it; None if nothing has rows."""
    leaves = filter(_has_rows, tf.nest.flatten(values))
    return next(map(_row_count, leaves), None)


def _has_rows(leaf: Any) -> bool:
    if isinstance(leaf, (tf.SparseTensor, tf.RaggedTensor)):
        return True
    return isinstance(leaf, tf.Tensor) and leaf.shape.rank != 0


def _row_count(leaf: Any) -> Any:
    if isinstance(leaf, tf.SparseTensor):
        return tf.cast(leaf.dense_shape[0], tf.int32)
    if isinstance(leaf, tf.RaggedTensor):
        return tf.cast(leaf.nrows(), tf.int32)
    rows = leaf.shape[0] if leaf.shape.rank else None
    return tf.shape(leaf)[0] if rows is None else tf.constant(rows)


def _slice(leaf: Any, begin: Any, size: Any) -> Any:
    if isinstance(leaf, tf.SparseTensor):
        rest = leaf.dense_shape[1:]
        start = tf.concat([[tf.cast(begin, tf.int64)], tf.zeros_like(rest)], 0)
        return tf.sparse.slice(leaf, start, tf.concat([[tf.cast(size, tf.int64)], rest], 0))
    rows = leaf[begin : begin + size]
    if isinstance(leaf, tf.RaggedTensor):
        return rows
    # A known size would be a constant of the model, such as a count of rows, which is not the count of the batch.
    return v1.placeholder_with_default(rows, [None, *leaf.shape[1:]])


class AccumulatedValue:
    """A value of a micro-batch that is added up over all of them.

    Args:
        user: The operation that reads ``tensor``, the first micro-batch's value, and is to read the total.
        how: "mean" (over rows) or "sum".
        shape: Shape of the accumulated value.
        position: Which of the user's inputs the value is.
        is_gradient: Whether it is a gradient, or a part of one.
        is_rows: Whether it is a part of an ``IndexedSlices``, which is kept and not added.
    """

    def __init__(
        self,
        user: Any,
        how: str,
        shape: Any,
        position: int = 0,
        is_gradient: bool = False,
        is_rows: bool = False,
    ) -> None:
        self.user, self.position = user, position
        self.tensor = user.inputs[position]
        self.is_gradient = is_gradient
        self._is_mean = how == "mean" and self.tensor.dtype.is_floating
        self._shape = shape
        self._is_rows = is_rows

    def zeros(self, micro_batches: Any) -> Any:
        dtype, shape = self.tensor.dtype, self._shape
        if not self._is_rows:
            return tf.zeros(shape, dtype)
        return tf.TensorArray(dtype, size=micro_batches, element_shape=shape, infer_shape=False)

    def add(self, total: Any, value: Any, index: Any, share: Any, usable: Any) -> Any:
        """Return the accumulated value with another micro-batch.

        ``share`` is its share of the rows, and ``usable`` is whether it counts, or will be computed again.
        """
        if self._is_mean:
            value *= tf.cast(share, value.dtype)
        if self._is_rows:
            # A micro-batch that is computed again writes its rows in the same place.
            return total.write(index, value)
        value = tf.reshape(value, self._shape)
        return total + value if usable is True else tf.where(usable, total + value, total)

    def result(self, total: Any) -> Any:
        return total.concat() if self._is_rows else total


def summaries(names: Collection[str], how: str) -> list[AccumulatedValue]:
    """List the numbers of these operations that summaries show."""
    shown = [each.op for each in v1.get_collection(v1.GraphKeys.SUMMARIES)]
    values = [
        AccumulatedValue(each, how, [], position=1)
        for each in shown
        if each.type == "ScalarSummary" and each.inputs[1].dtype.is_floating
    ]
    return [each for each in values if each.tensor.op.name in names]


class Updates:
    """Changes of variables: those that are added up over micro-batches, and those that happen once a step."""

    @functools.cached_property
    def _aggregations(self) -> dict[str, str | None]:
        return {
            each.handle.op.name: _AGGREGATIONS.get(each.aggregation)
            for variable in (*v1.global_variables(), *v1.local_variables())
            for each in replicated_variables.components(variable)
            if hasattr(each, "handle")
        }

    def aggregation(self, operation: Any) -> str | None:
        """Return how the changes of micro-batches are added up, if the variable defines it."""
        is_assignment = operation.type in _ASSIGNMENTS
        return self._aggregations.get(operation.inputs[0].op.name) if is_assignment else None

    def are_once(self, operation: Any) -> bool:
        return effects.changes_state(operation) and self.aggregation(operation) is None
