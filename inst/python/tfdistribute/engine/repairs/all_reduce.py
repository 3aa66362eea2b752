"""Repairs of sums over replicas, and of sparse gradients over the processes of a cluster.

``all_reduce`` inside a model, as in normalization over the global batch, fails if one device computes the sum:
TensorFlow finds variables of other replicas, which a custom gradient does not declare. Gradients stop at the result,
because TensorFlow declares the gradient of a sum over replicas separately.

Servers keep the shapes of a collective operation from its first step, so a step whose sparse gradient has another
number of rows fails ("Shape mismatch in the collective instance"). Operations of constant shape sum them instead.
"""

import math
from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches


def install() -> None:
    patches.install("all_reduce", _without_gradient)
    patches.install("sparse_all_reduce", _all_reduce)


def _without_gradient(
    all_reduce: Any, context: Any, reduce_op: Any, value: Any, options: Any = None
) -> Any:
    sparse = any(isinstance(leaf, tf.IndexedSlices) for leaf in tf.nest.flatten(value))
    merges = context._strategy.extended._use_merge_call()
    if merges and not sparse and not tf.executing_eagerly():
        context = _StoppedGradients(context)
    return all_reduce(context, reduce_op, value, options)


class _StoppedGradients:
    def __init__(self, context: Any) -> None:
        self._context = context
        self._strategy = context._strategy
        self.all_reduce = context.all_reduce

    def merge_call(self, function: Any, args: Any) -> Any:
        merged = self._context.merge_call(function, args=args)
        return tf.nest.map_structure(tf.stop_gradient, merged)


def _all_reduce(gather: Any, launcher: Any, slices: Any, options: Any = None) -> Any:
    shape = None
    if slices.dense_shape is not None:
        shape = tf.get_static_value(slices.dense_shape)
    if shape is None or tf.executing_eagerly() or not _spans_processes(launcher._device):
        return gather(launcher, slices, options)
    with tf.device(launcher._device):
        return _sum_rows(launcher, slices, [int(size) for size in shape], options)


def _spans_processes(device: str) -> bool:
    return tf.DeviceSpec.from_string(device).job not in (None, "localhost")


def _sum_rows(launcher: Any, slices: Any, shape: list[int], options: Any) -> Any:
    """Sum all rows, with a column that counts the reads; return the rows that at least one task has read."""
    width = math.prod(shape[1:])
    values = tf.reshape(slices.values, [-1, width])
    marks = tf.ones_like(values[:, :1])
    rows = tf.math.unsorted_segment_sum(
        tf.concat([values, marks], 1), tf.reshape(slices.indices, [-1]), shape[0]
    )
    rows.set_shape([shape[0], width + 1])
    total = launcher.all_reduce(rows, options=options)
    indices = tf.where(total[:, -1] > 0)[:, 0]
    nonzero_rows = tf.gather(total[:, :-1], indices)
    return tf.IndexedSlices(
        tf.reshape(nonzero_rows, [-1, *shape[1:]]),
        tf.cast(indices, slices.indices.dtype),
        slices.dense_shape,
    )
