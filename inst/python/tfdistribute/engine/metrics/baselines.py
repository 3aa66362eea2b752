"""Accuracy of always predicting the more frequent class, over several replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

_BASELINE, _LABEL_MEAN = "accuracy_baseline", "label/mean"


def with_baselines_of_all_replicas(values: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the baselines of classifiers from the mean label.

    TensorFlow derives them from the state of the mean in each replica, and counts the rows of all replicas: with two
    replicas, half of the accuracy is reported.
    """
    corrected = dict(values)
    for name in values:
        mean = values.get(name.replace(_BASELINE, _LABEL_MEAN, 1))
        if name.startswith(_BASELINE) and mean is not None:
            corrected[name] = tf.maximum(mean, 1 - mean)
    return corrected
