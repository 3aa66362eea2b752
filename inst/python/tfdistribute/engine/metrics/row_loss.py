"""Mean loss over the rows of an evaluation.

Estimator averages the losses of batches, so a smaller last batch counts as much as a full one, and the result depends
on how rows fall into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1

# The metric that becomes the loss of an evaluation; Estimator reserves the name "loss" for its mean over batches.
ROW_LOSS = "loss_of_rows"
_LOSS = "loss"


def with_row_loss(spec: Any, features: Any, labels: Any) -> Any:
    """Add the metric ``ROW_LOSS``, in which the loss of each batch counts by its rows.

    It is the mean over all rows if the loss is a mean over the rows of its batch. Without a tensor with rows, nothing
    is added.
    """
    rows = _rows(labels)
    rows = _rows(features) if rows is None else rows
    if rows is None:
        return spec
    loss = tf.reshape(tf.convert_to_tensor(spec.loss), [])
    metric = v1.metrics.mean(loss, weights=tf.cast(rows, tf.float32))
    return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), ROW_LOSS: metric})


def as_loss(values: Mapping[str, Any], name: str | None, hidden: bool) -> dict[str, Any]:
    """Report the metric ``name`` as the loss, ``hidden`` or not under its own name; None keeps Estimator's mean."""
    if name is None or name not in values:
        return dict(values)
    others = {key: value for key, value in values.items() if not (hidden and key == name)}
    return {**others, _LOSS: values[name]}


def _rows(values: Any) -> Any:
    """Count the rows of the first tensor that has any, as a scalar tensor; None without one."""
    for value in tf.nest.flatten(values):
        if isinstance(value, tf.SparseTensor):
            return value.dense_shape[0]
        if isinstance(value, tf.RaggedTensor):
            return value.nrows()
        if isinstance(value, tf.Tensor) and value.shape.rank != 0:
            return tf.shape(value)[0]
    return None
