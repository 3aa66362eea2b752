"""The graph of boosted trees: arrays with an entry for each node, in which each row goes from the roots to leaves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.feature_column import feature_column_v2

v1 = tf.compat.v1
columns_lib: Any = feature_column_v2

# Numbers are limited to this magnitude, so that no weighted sum overflows.
_FARTHEST = 1e30
# Trees that rows go through at the same time.
_AT_ONCE = 64

# The variables of a forest, with their types and numbers of axes. Nodes have the number of a column that they compare,
# and a leaf has itself as both children.
ARRAYS: Mapping[str, tuple[Any, int]] = {
    "roots": (np.int32, 2),  # By iteration and output.
    "initial": (np.float32, 1),  # By output, to which the leaves of all trees are added.
    "depth": (np.int32, 0),
    "column": (np.int32, 2),  # By node and, in oblique nodes, terms of the weighted sum.
    "weight": (np.float32, 2),
    "threshold": (np.float32, 1),
    # Place of its column's category 0 in ``is_in``; -1 for numbers.
    "first_category": (np.int32, 1),
    "is_in": (np.bool_, 1),
    # Child of rows that reach the threshold, or whose category is in the set.
    "positive": (np.int32, 1),
    "negative": (np.int32, 1),
    "value": (np.float32, 1),
}


@dataclass(frozen=True)
class Columns:
    """The columns that trees read: numbers, then indicators of missing numbers, then categories.

    Args:
        numbers: Numeric columns, in the order of their names.
        categories: Categorical columns, each with one category per row. A missing one is a category of its own.
        incomplete: Positions of numbers that have an indicator. A missing number counts as 0.
    """

    numbers: Sequence[Any]
    categories: Sequence[Any]
    incomplete: Sequence[int]

    def matrix(self, features: Any) -> Any:
        parts: list[Any] = []
        if self.numbers:
            numbers = tf.keras.layers.DenseFeatures(self.numbers)(features)
            missing = tf.math.is_nan(numbers)
            numbers = tf.where(missing, tf.zeros_like(numbers), numbers)
            parts.append(tf.clip_by_value(numbers, -_FARTHEST, _FARTHEST))
            if self.incomplete:
                parts.append(tf.cast(tf.gather(missing, list(self.incomplete), axis=1), tf.float32))
        cache = columns_lib.FeatureTransformationCache(features)
        for column in self.categories:
            ids = tf.sparse.to_dense(column.get_sparse_tensors(cache, None).id_tensor, -1)[:, :1]
            codes = tf.where(ids < 0, tf.cast(column.num_buckets, ids.dtype), ids)
            parts.append(tf.cast(codes, tf.float32))
        return tf.concat(parts, 1)


def make_model_fn(columns: Columns, head: Any, weights: str | None) -> Callable[..., Any]:
    # Estimator requires these parameter names.
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        v1.train.get_or_create_global_step()
        rows = columns.matrix(features)
        if mode == tf.estimator.ModeKeys.TRAIN:
            return _rows_to_learn(rows, features, labels, head, weights)
        logits = logits_of(_variables(), rows, columns, head.logits_dimension)
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, logits=logits
        )

    return model_fn


def _rows_to_learn(rows: Any, features: Any, labels: Any, head: Any, weights: str | None) -> Any:
    logits = tf.zeros([tf.shape(rows)[0], head.logits_dimension])
    learned = getattr(head, "standardized_labels", head._processed_labels)(logits, labels)
    weight = tf.ones_like(rows[:, 0]) if weights is None else features[weights]
    outputs = {
        "rows": rows,
        "labels": tf.reshape(learned, [-1]),
        "weights": tf.reshape(tf.cast(weight, tf.float32), [-1]),
    }
    mode = tf.estimator.ModeKeys.TRAIN
    return tf.estimator.EstimatorSpec(mode, outputs, tf.constant(0.0), tf.no_op())


def _variables() -> dict[str, Any]:
    return {
        name: tf.Variable(
            np.zeros([1] * axes, dtype), shape=[None] * axes, name=f"trees/{name}", trainable=False
        )
        for name, (dtype, axes) in ARRAYS.items()
    }


def logits_of(forest: Mapping[str, Any], rows: Any, columns: Columns, outputs: int) -> Any:
    count, iterations = tf.shape(rows)[0], tf.shape(forest["roots"])[0]
    step = max(1, _AT_ONCE // outputs)

    def add(first: Any, total: Any) -> tuple[Any, Any]:
        roots = tf.reshape(forest["roots"][first : first + step], [1, -1])
        _, leaves = tf.while_loop(
            lambda level, _: level < forest["depth"],
            lambda level, nodes: (level + 1, _children(forest, rows, nodes, columns)),
            [0, tf.tile(roots, [count, 1])],
        )
        values = tf.reshape(tf.gather(forest["value"], leaves), [count, -1, outputs])
        return first + step, total + tf.reduce_sum(values, 1)

    initial = tf.reshape(forest["initial"], [1, outputs])
    begin = [0, tf.tile(initial, [count, 1])]
    shapes = [tf.TensorShape([]), tf.TensorShape([None, outputs])]
    return tf.while_loop(lambda first, _: first < iterations, add, begin, shapes)[1]


def _children(forest: Mapping[str, Any], rows: Any, nodes: Any, columns: Columns) -> Any:
    """Return the next node of each row in each tree."""
    read = tf.gather(forest["column"], nodes)
    shape = tf.shape(read)
    terms = tf.gather(rows, tf.reshape(read, [shape[0], -1]), axis=1, batch_dims=1)
    weights = tf.gather(forest["weight"], nodes)
    values = tf.reduce_sum(tf.reshape(terms, shape) * weights, -1)
    is_positive = values >= tf.gather(forest["threshold"], nodes)
    if columns.categories:
        first = tf.gather(forest["first_category"], nodes)
        places = tf.where(first < 0, 0, first + tf.cast(values, tf.int32))
        is_positive = tf.where(first < 0, is_positive, tf.gather(forest["is_in"], places))
    positive, negative = (tf.gather(forest[name], nodes) for name in ("positive", "negative"))
    return tf.where(is_positive, positive, negative)
