"""Repair of sessions that wait at their end for the threads that tune datasets.

Such a thread sleeps up to a minute. This package's own datasets have nothing to tune.
"""

from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches


def install() -> None:
    patches.install("dataset_tuning", lambda create, *args: without_autotuning(create(*args)))


def without_autotuning(dataset: Any) -> Any:
    """Keep TensorFlow from tuning a dataset.

    Source:
        ``Model::OptimizeLoop`` in tensorflow/core/framework/model.cc looks whether it is canceled when it is woken;
        ``CancellationManager::StartCancel`` wakes it before the flag is set.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
