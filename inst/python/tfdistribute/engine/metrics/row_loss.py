"""Metrics that Estimator reports otherwise: mean loss over rows, baselines over replicas, areas under curves.

Estimator averages the losses of batches, so its result depends on how rows fall into batches.
"""

import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfdistribute.engine.step.micro_batches import row_count

v1 = tf.compat.v1

# The metric that becomes the loss of an evaluation; Estimator reserves the name "loss" for its mean over batches.
ROW_LOSS = "loss_of_rows"
_LOSS = "loss"
_BASELINE, _LABEL_MEAN = "accuracy_baseline", "label/mean"
_AREAS = ("auc", "auc_precision_recall")


def with_row_loss(spec: Any, features: Any, labels: Any) -> Any:
    """Add the metric ``ROW_LOSS``, in which the loss of each batch, a mean over its rows, counts by its rows.

    Without a tensor with rows, nothing is added.
    """
    rows = row_count((labels, features))
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


def with_baselines_of_all_replicas(values: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the baselines of classifiers from the mean label.

    With two replicas, TensorFlow's own are half of the accuracy, because it counts the rows of all replicas.
    """
    corrected = dict(values)
    for name in values:
        mean = values.get(name.replace(_BASELINE, _LABEL_MEAN, 1))
        if name.startswith(_BASELINE) and mean is not None:
            corrected[name] = tf.maximum(mean, 1 - mean)
    return corrected


def without_auc_of_one_class(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the areas under the curves of a classifier of two classes by NaN if the rows have one class.

    The areas are not defined, and TensorFlow reports 0 and 1.
    """
    mean = values.get(_LABEL_MEAN)
    if mean is None:
        return dict(values)
    mean = tf.convert_to_tensor(mean)
    has_both = tf.logical_and(mean > 0, mean < 1)
    defined = {
        name: tf.where(has_both, values[name], math.nan) for name in _AREAS if name in values
    }
    return {**values, **defined}
