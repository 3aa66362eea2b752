"""The graph of boosted trees: arrays with an entry for each node, in which each row goes from the roots to leaves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.feature_column import feature_column_v2

v1 = tf.compat.v1
columns_lib: Any = feature_column_v2

# Numbers are limited to this magnitude, so that no weighted sum overflows.
_FARTHEST = 1e30
# Trees that rows go through at the same time, and rows that go through all trees.
_AT_ONCE, _ROWS = 64, 4096

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
        is_oblique: Whether nodes may compare weighted sums of columns.
    """

    numbers: Sequence[Any]
    categories: Sequence[Any]
    incomplete: Sequence[int]
    is_oblique: bool

    @property
    def sizes(self) -> list[int]:
        """Numbers of categories of the columns that hold categories, which come last."""
        return [column.num_buckets + 1 for column in self.categories]

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
    outputs = {"rows": rows}
    logits = tf.zeros([tf.shape(rows)[0], head.logits_dimension])
    learned = getattr(head, "standardized_labels", head._processed_labels)(logits, labels)
    outputs["labels"] = tf.reshape(learned, [-1])
    if weights is not None:
        outputs["weights"] = tf.reshape(tf.cast(features[weights], tf.float32), [-1])
    loss = tf.constant(0.0)
    mode = tf.estimator.ModeKeys.TRAIN
    return tf.estimator.EstimatorSpec(mode, outputs, loss, tf.no_op())


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
    is_positive, _, _ = _compare(forest, rows, nodes, columns)
    positive, negative = (tf.gather(forest[name], nodes) for name in ("positive", "negative"))
    return tf.where(is_positive, positive, negative)


def _compare(
    forest: Mapping[str, Any], rows: Any, nodes: Any, columns: Columns
) -> tuple[Any, Any, Any]:
    """Return which rows go to the positive child, the value that is compared, and its place in ``is_in``."""
    read = tf.gather(forest["column"], nodes)
    if columns.is_oblique:
        shape = tf.shape(read)
        terms = tf.gather(rows, tf.reshape(read, [shape[0], -1]), axis=1, batch_dims=1)
        weights = tf.gather(forest["weight"], nodes)
        values = tf.reduce_sum(tf.reshape(terms, shape) * weights, -1)
    else:
        values = tf.gather(rows, read[:, :, 0], axis=1, batch_dims=1)
    is_positive = values >= tf.gather(forest["threshold"], nodes)
    places = tf.zeros_like(nodes)
    if columns.categories:
        first = tf.gather(forest["first_category"], nodes)
        places = tf.where(first < 0, places, first + tf.cast(values, tf.int32))
        is_positive = tf.where(first < 0, is_positive, tf.gather(forest["is_in"], places))
    return is_positive, values, places


class Descent:
    """Rows on their way through a forest, outside a graph."""

    def __init__(self, forest: Mapping[str, Any], columns: Columns) -> None:
        self.forest, self._columns = forest, columns
        count, sets = len(forest["value"]), len(forest["is_in"])
        self._low, self._high = np.full(count, -np.inf), np.full(count, np.inf)
        self._is_in = np.zeros(sets, np.bool_)

    def leaf_values(self, rows: Any, learns: bool = False) -> Iterator[Any]:
        """Yield the value of each row's leaf by row, iteration and output, for some rows after the other.

        ``learns`` is whether ``settled`` is called afterwards.
        """
        with context.eager_mode(), tf.device("/cpu:0"):
            held = {name: tf.constant(each, ARRAYS[name][0]) for name, each in self.forest.items()}
            for first in range(0, len(rows), _ROWS):
                chunk = tf.constant(rows[first : first + _ROWS])
                nodes = tf.tile(tf.reshape(held["roots"], [1, -1]), [len(chunk), 1])
                for _ in range(int(self.forest["depth"])):
                    if learns:
                        self._note(nodes, *_compare(held, chunk, nodes, self._columns))
                    nodes = _children(held, chunk, nodes, self._columns)
                values = tf.gather(held["value"], nodes)
                yield tf.reshape(values, [len(chunk), *self.forest["roots"].shape]).numpy()

    def _note(self, nodes: Any, is_positive: Any, values: Any, places: Any) -> None:
        low = tf.where(is_positive, -np.inf, values)
        high = tf.where(is_positive, values, np.inf)
        count, nodes = len(self._low), tf.reshape(nodes, [-1])
        highest, lowest = tf.math.unsorted_segment_max, tf.math.unsorted_segment_min
        self._low = np.maximum(self._low, highest(tf.reshape(low, [-1]), nodes, count))
        self._high = np.minimum(self._high, lowest(tf.reshape(high, [-1]), nodes, count))
        if self._columns.categories:
            self._is_in[tf.boolean_mask(places, is_positive).numpy()] = True

    def settled(self) -> dict[str, Any]:
        """Return a forest whose thresholds and sets follow from the noted rows alone, which go the same ways.

        Each learner of ydf chooses its own threshold between the rows of two children, and for categories without rows.
        """
        splits = self.forest["positive"] != np.arange(len(self._low))
        is_number = splits & (self.forest["first_category"] < 0)
        middle = (self._low / 2 + self._high / 2).astype(np.float32)
        # The middle of neighbors is rounded to one of them.
        middle = np.where(middle > self._low, middle, self._high.astype(np.float32))
        threshold = np.where(is_number, middle, self.forest["threshold"]).astype(np.float32)
        return {**self.forest, "threshold": threshold, "is_in": self._is_in}
