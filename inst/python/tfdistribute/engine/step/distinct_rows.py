"""Sparse gradients whose rows are summed already, as lookups that read each row once make them."""

from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches
from tfdistribute.engine.graph import walk

_PASSING = ("Identity", "Reshape", "Cast")
# Operations and their outputs that hold each index once: of embedding lookups, and of their gradients.
_UNIQUE = {("Unique", 0), ("UniqueV2", 0)}
_UNIQUE |= {(f"SparseSegment{kind}GradV2", 1) for kind in ("Mean", "SqrtN", "Sum")}


def holds_each_index_once(indices: Any) -> bool:
    """Return whether the indices of a gradient's rows come from an operation that removes duplicates."""
    source = walk.behind(indices, _PASSING)
    return (source.op.type, source.value_index) in _UNIQUE


def sum_rows(gradient: Any) -> Any:
    """Return a sparse gradient that holds each index once."""
    indices, position = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, position, tf.size(indices))
    return tf.IndexedSlices(values, indices, gradient.dense_shape)


def install() -> None:
    """Let optimizers in graphs take such gradients as they are, and clip a row that several replicas read once."""
    patches.install("distinct_rows", _update, _update)
    patches.install("clipped_rows", _transform)


def _transform(original: Any, optimizer: Any, grads_and_vars: Any) -> Any:
    clips = (optimizer.clipvalue, optimizer.clipnorm, optimizer.global_clipnorm)
    if any(each is not None for each in clips) and not tf.executing_eagerly():
        grads_and_vars = [
            (sum_rows(each) if _joins_distinct_rows(each) else each, variable)
            for each, variable in grads_and_vars
        ]
    return original(optimizer, grads_and_vars)


def _joins_distinct_rows(gradient: Any) -> bool:
    """Return whether a gradient is the sum over replicas of sparse gradients that each hold an index once."""
    if not isinstance(gradient, tf.IndexedSlices):
        return False
    joined = walk.behind(gradient.indices, _PASSING).op
    parts = list(joined.inputs)[:-1]
    return joined.type == "ConcatV2" and len(parts) > 1 and all(map(holds_each_index_once, parts))


def _update(
    original: Any, optimizer: Any, grad: Any, handle: Any, indices: Any, **kwargs: Any
) -> Any:
    if tf.executing_eagerly() or not holds_each_index_once(indices):
        return original(optimizer, grad, handle, indices, **kwargs)
    return optimizer._resource_apply_sparse(grad, handle, indices, **kwargs)
