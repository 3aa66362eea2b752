"""TensorFlow's own DNNClassifier with batches of 128: ``estimator.py predict`` or ``estimator.py evaluate``."""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any

import tensorflow as tf
from rows import HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

model = tf.estimator.DNNClassifier(
    HIDDEN, [tf.feature_column.numeric_column("x", WIDTH)], model_dir=tempfile.mkdtemp()
)


def batches() -> Any:
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(128).prefetch(2)


model.train(batches, steps=1)


# A tenth of the rows: all would take minutes.
COUNT = ROWS // 10


def some() -> Any:
    return batches().take(COUNT // 128)


def measure(passes: int) -> float:
    del passes
    started = time.perf_counter()
    if sys.argv[1] == "predict":
        for _ in model.predict(some, yield_single_examples=False):
            pass
    else:
        model.evaluate(some)
    return COUNT / (time.perf_counter() - started)


take_turns(measure)
