"""Repair of sums of sparse gradients over the processes of a cluster.

The gradient of a table holds only the rows that the batch reads, and their number changes from step to step. The
servers of a cluster keep the shapes of a collective operation from its first step, so a step with another number of
rows fails ("Shape mismatch in the collective instance").
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches


def install() -> None:
    """Sum sparse gradients with operations of constant shape.

    All rows are summed, as zeros if they were not read, with a column that counts the reads. The result has the rows
    that at least one task has read, as optimizers expect.
    """
    patches.install("sparse_all_reduce", _all_reduce)


def _all_reduce(gather: Any, launcher: Any, slices: Any, options: Any = None) -> Any:
    shape = None
    if slices.dense_shape is not None:
        shape = tf.get_static_value(slices.dense_shape)
    if shape is None or tf.executing_eagerly() or not _spans_processes(launcher._device):
        return gather(launcher, slices, options)
    with tf.device(launcher._device):
        return _sum(launcher, slices, [int(size) for size in shape], options)


def _spans_processes(device: str) -> bool:
    """Return whether a device belongs to a task of a cluster; within one process no repair is needed."""
    return tf.DeviceSpec.from_string(device).job not in (None, "localhost")


def _sum(launcher: Any, slices: Any, shape: list[int], options: Any) -> Any:
    values = tf.reshape(slices.values, [-1, _width(shape)])
    marks = tf.ones_like(values[:, :1])
    rows = tf.math.unsorted_segment_sum(
        tf.concat([values, marks], 1), tf.reshape(slices.indices, [-1]), shape[0]
    )
    rows.set_shape([shape[0], _width(shape) + 1])
    total = launcher.all_reduce(rows, options=options)
    indices = tf.where(total[:, -1] > 0)[:, 0]
    nonzero_rows = tf.gather(total[:, :-1], indices)
    return tf.IndexedSlices(
        tf.reshape(nonzero_rows, [-1, *shape[1:]]),
        tf.cast(indices, slices.indices.dtype),
        slices.dense_shape,
    )


def _width(shape: list[int]) -> int:
    width = 1
    for size in shape[1:]:
        width *= size
    return width
