"""A batch in parts of as equal size as possible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfdistribute.errors import ModelError


class Batch:
    """The features and labels of one replica's batch.

    Args:
        values: Structure of tensors; those of rank 0, and anything else, are the same for all parts.
        parts: Number of parts; fewer if there are fewer rows.

    Raises:
        ModelError: nothing in it has rows.
    """

    def __init__(self, values: Any, parts: int) -> None:
        self._leaves = tf.nest.flatten(values)
        self._structure = values
        self._rows = _checked_rows(list(self._split()))
        static = tf.get_static_value(self._rows)
        self._part_rows: int | None = None
        if static is None:
            self.parts: Any = tf.maximum(1, tf.minimum(parts, self._rows))
        else:
            count = max(1, min(parts, int(static)))
            self.parts = tf.constant(count)
            # Parts of one known size keep the static shapes that a model function may ask for.
            self._part_rows = int(static) // count if int(static) % count == 0 else None

    def part(self, index: Any) -> Any:
        """Return the rows of one part, in the structure of the batch."""
        begin = self._bound(index)
        size = self._bound(index + 1) - begin if self._part_rows is None else self._part_rows
        leaves = [_rows(leaf, begin, size) if _has_rows(leaf) else leaf for leaf in self._leaves]
        return tf.nest.pack_sequence_as(self._structure, leaves)

    def share(self, index: Any) -> Any:
        """Return the share of the batch's rows that are in one part, float32."""
        rows = self._bound(index + 1) - self._bound(index)
        # The mean over no rows is undefined for the whole batch, too.
        return tf.cast(rows, tf.float32) / tf.cast(self._rows, tf.float32)

    def _bound(self, index: Any) -> Any:
        # The first parts are the larger ones.
        return -((-index * self._rows) // self.parts)

    def _split(self) -> Iterator[Any]:
        return (leaf for leaf in self._leaves if _has_rows(leaf))


def _has_rows(leaf: Any) -> bool:
    if isinstance(leaf, (tf.SparseTensor, tf.RaggedTensor)):
        return True
    return isinstance(leaf, tf.Tensor) and leaf.shape.rank != 0


def _row_count(leaf: Any) -> Any:
    if isinstance(leaf, tf.SparseTensor):
        return tf.cast(leaf.dense_shape[0], tf.int32)
    if isinstance(leaf, tf.RaggedTensor):
        return tf.cast(leaf.nrows(), tf.int32)
    static = leaf.shape[0] if leaf.shape.rank else None
    return tf.constant(static) if static is not None else tf.shape(leaf)[0]


def _checked_rows(leaves: list[Any]) -> Any:
    if not leaves:
        raise ModelError(
            "`micro_batches` splits the rows of a batch, and the input has no tensor with rows.",
            "Give features with a row for each example, or leave `micro_batches` out.",
            argument="micro_batches",
        )
    counts = [_row_count(leaf) for leaf in leaves]
    checks = [
        tf.debugging.assert_equal(
            count, counts[0], message="`micro_batches` needs features with a row for each example"
        )
        for count in counts[1:]
        if tf.get_static_value(count) is None or tf.get_static_value(counts[0]) is None
    ]
    with tf.control_dependencies([each for each in checks if each is not None]):
        return tf.identity(counts[0]) if checks else counts[0]


def _rows(leaf: Any, begin: Any, size: Any) -> Any:
    if isinstance(leaf, tf.SparseTensor):
        rest = leaf.dense_shape[1:]
        start = tf.concat([[tf.cast(begin, tf.int64)], tf.zeros_like(rest)], 0)
        return tf.sparse.slice(leaf, start, tf.concat([[tf.cast(size, tf.int64)], rest], 0))
    if isinstance(leaf, tf.RaggedTensor):
        return leaf[begin : begin + size]
    part = leaf[begin : begin + size]
    if isinstance(size, int):
        part.set_shape([size, *leaf.shape[1:]])
    return part
