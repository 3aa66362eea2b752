"""Repair of sessions that wait at their end for the threads that tune datasets.

The sleeps of such a thread grow to a minute, and where it shares a core with the thread that wakes it, it may go back
to sleep. This package's own datasets, and those that TensorFlow makes for each device, have nothing to tune.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import multi_device_iterator_ops

_create: Any = getattr(multi_device_iterator_ops, "_create_device_dataset", None)


def install() -> None:
    """Keep TensorFlow from tuning the datasets that pass batches on to devices. A second call changes nothing.

    Source:
        ``_create_device_dataset`` in tensorflow/python/data/ops/multi_device_iterator_ops.py.
    """
    # Other versions of TensorFlow may make them in another way.
    if _create is not None:
        multi_device_iterator_ops._create_device_dataset = _create_untuned


def without_autotuning(dataset: Any) -> Any:
    """Keep TensorFlow from tuning a dataset.

    Source:
        ``Model::OptimizeLoop`` in tensorflow/core/framework/model.cc looks whether it is cancelled when it is woken;
        ``CancellationManager::StartCancel`` wakes it before it says so.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def _create_untuned(*args: Any, **kwargs: Any) -> Any:
    return without_autotuning(_create(*args, **kwargs))
