"""Repair of sessions that wait at their end for the threads that tune datasets.

The sleeps of such a thread grow to a minute, and where it shares a core with the thread that wakes it, it may go back
to sleep. This package's own datasets, and those that TensorFlow makes for each device, have nothing to tune.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches


def install() -> None:
    """Keep TensorFlow from tuning the datasets that pass batches on to devices."""
    patches.install("dataset_tuning", _create_untuned)


def without_autotuning(dataset: Any) -> Any:
    """Keep TensorFlow from tuning a dataset.

    Source:
        ``Model::OptimizeLoop`` in tensorflow/core/framework/model.cc looks whether it is cancelled when it is woken;
        ``CancellationManager::StartCancel`` wakes it before it says so.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def _create_untuned(create: Any, *args: Any, **kwargs: Any) -> Any:
    return without_autotuning(create(*args, **kwargs))
