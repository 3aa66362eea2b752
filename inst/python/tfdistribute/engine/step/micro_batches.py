"""A batch in micro-batches, and the values of micro-batches that are added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import walk
from tfdistribute.errors import ModelError

# Operations and their outputs that hold each index once: of embedding lookups, and of their gradients.
_UNIQUE = {("Unique", 0), ("UniqueV2", 0)}
_UNIQUE |= {(f"SparseSegment{kind}GradV2", 1) for kind in ("Mean", "SqrtN", "Sum")}


class Batch:
    """The features and labels of one replica's batch, in micro-batches of as equal size as possible.

    Args:
        values: Structure of tensors; those of rank 0, and anything else, are the same for all micro-batches.
        count: Number of micro-batches; fewer if there are fewer rows.

    Attributes:
        count: Number of micro-batches, a tensor.

    Raises:
        ModelError: nothing in it has rows.
    """

    def __init__(self, values: Any, count: int) -> None:
        self._values = values
        self._rows, known_rows = _rows([leaf for leaf in tf.nest.flatten(values) if _has_rows(leaf)])
        self._size: int | None = None
        if known_rows is None:
            self.count: Any = tf.maximum(1, tf.minimum(count, self._rows))
        else:
            count = max(1, min(count, known_rows))
            self.count = tf.constant(count)
            # Micro-batches of one known size keep the static shapes that a model function may ask for.
            self._size = known_rows // count if known_rows % count == 0 else None

    def micro_batch(self, index: Any) -> Any:
        """Return a micro-batch, in the structure of the batch."""
        begin = self._bound(index)
        size = self._bound(index + 1) - begin if self._size is None else self._size
        return tf.nest.map_structure(
            lambda leaf: _slice(leaf, begin, size) if _has_rows(leaf) else leaf, self._values
        )

    def share(self, index: Any) -> Any:
        """Return the share of the batch's rows that are in a micro-batch, float32."""
        rows = self._bound(index + 1) - self._bound(index)
        # The mean over no rows is undefined for the whole batch, too.
        return tf.cast(rows, tf.float32) / tf.cast(self._rows, tf.float32)

    def _bound(self, index: Any) -> Any:
        # The first micro-batches are the larger ones.
        return -((-index * self._rows) // self.count)


def _has_rows(leaf: Any) -> bool:
    if isinstance(leaf, (tf.SparseTensor, tf.RaggedTensor)):
        return True
    return isinstance(leaf, tf.Tensor) and leaf.shape.rank != 0


def _rows(leaves: list[Any]) -> tuple[Any, int | None]:
    """Return the number of rows as a tensor and, if it is known, as a number."""
    if not leaves:
        raise ModelError(
            "`micro_batches` splits the rows of a batch, and the input has no tensor with rows.",
            "Give features with a row for each example, or leave `micro_batches` out.",
            argument="micro_batches",
        )
    counts = [_row_count(leaf) for leaf in leaves]
    message = "`micro_batches` needs features with a row for each example"
    checks = [tf.debugging.assert_equal(each, counts[0], message) for each in counts[1:]]
    with tf.control_dependencies([each for each in checks if each is not None]):
        known = tf.get_static_value(counts[0])
        return tf.identity(counts[0]), None if known is None else int(known)


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
    if isinstance(size, int) and isinstance(leaf, tf.Tensor):
        rows.set_shape([size, *leaf.shape[1:]])
    return rows


@dataclass(frozen=True, eq=False)
class AccumulatedValue:
    """A value of a micro-batch that is added up over all of them.

    Args:
        tensors: The value of the first micro-batch: a tensor, or the values and indices of an ``IndexedSlices``.
        users: For each of the tensors, the operation that reads the accumulated value in its place.
        how: "mean" (over rows), "sum" or "first" (the value of the first micro-batch).
        shape: Shape of the accumulated value, unless it is an ``IndexedSlices``.
        position: Which of the users' inputs the value is.
        is_scaled: Whether it is a gradient of a loss that is multiplied by the loss scale.
    """

    tensors: tuple[Any, ...]
    users: tuple[Any, ...]
    how: str
    shape: Any
    position: int = 0
    is_scaled: bool = False

    def zeros(self, micro_batches: Any) -> list[Any]:
        """Return the accumulated value of no micro-batch. Rows of an ``IndexedSlices`` are kept until the end."""
        if len(self.tensors) == 1:
            return [tf.zeros(self.shape, self.tensors[0].dtype)]
        return [
            tf.TensorArray(
                each.dtype,
                size=micro_batches,
                element_shape=[None, *each.shape[1:]],
                infer_shape=False,
            )
            for each in self.tensors
        ]

    def add(
        self, total: list[Any], value: list[Any], index: Any, factors: tuple[Any, Any], usable: Any
    ) -> list[Any]:
        """Return the accumulated value with that of another micro-batch.

        Args:
            total: The accumulated value so far.
            value: The value of the micro-batch.
            index: Its number.
            factors: Its share of the rows, and the loss scale.
            usable: Whether its gradients are finite, a tensor; None if that does not matter.
        """
        share, scale = factors
        first, *indices = value
        if self.is_scaled:
            first /= tf.cast(scale, first.dtype)
        if self.how == "mean":
            first *= tf.cast(share, first.dtype)
        if indices:
            # A micro-batch that is computed again writes its rows in the same place.
            parts = zip(total, [first, *indices], strict=True)
            return [rows.write(index, part) for rows, part in parts]
        first = tf.reshape(first, self.shape)
        is_first = self.how == "first"
        added = tf.where(tf.equal(index, 0), first, total[0]) if is_first else total[0] + first
        return [added if usable is None else tf.where(usable, added, total[0])]

    def result(self, total: list[Any]) -> list[Any]:
        """Return the accumulated value in the form of ``tensors``.

        Rows of an embedding that several micro-batches read are added up if the model reads each row once. The norm of
        a gradient, by which it may be clipped, is then the norm over the whole batch.
        """
        if len(total) == 1:
            return total
        values, indices = (rows.concat() for rows in total)
        source = walk.behind(self.tensors[1], ("Identity", "Reshape", "Cast"))
        if (source.op.type, source.value_index) not in _UNIQUE:
            return [values, indices]
        unique, position = tf.unique(indices)
        return [tf.math.unsorted_segment_sum(values, position, tf.size(unique)), unique]
