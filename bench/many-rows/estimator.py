"""TensorFlow's own DNNClassifier with batches of 128: ``estimator.py predict`` or ``estimator.py evaluate``."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import tensorflow as tf
from rows import HIDDEN, WIDTH, X, Y
from step_clock import Clock
from way import take_turns

BATCH = 128

model = tf.estimator.DNNClassifier(
    HIDDEN, [tf.feature_column.numeric_column("x", WIDTH)], model_dir=tempfile.mkdtemp()
)


def batches() -> Any:
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(BATCH).prefetch(2)


model.train(batches, steps=1)


def measure(count: int) -> float:
    # All rows would take minutes: a part of them, without the start, which would be more of it than of all.
    def some() -> Any:
        return batches().take(count)

    clock = Clock(count)
    if sys.argv[1] == "predict":
        for _ in model.predict(some, hooks=[clock], yield_single_examples=False):
            pass
    else:
        model.evaluate(some, hooks=[clock])
    return (clock.steps - clock.first) * BATCH / (clock.ended - clock.started)


take_turns(measure, warm_up=20)
