"""TensorFlow's own DNNClassifier with batches of 128: ``estimator.py predict`` or ``estimator.py evaluate``."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import tensorflow as tf
from estimator_turns import Turns
from rows import HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

BATCH = 128

model = tf.estimator.DNNClassifier(
    HIDDEN, [tf.feature_column.numeric_column("x", WIDTH)], model_dir=tempfile.mkdtemp()
)


def batches(rows: int = ROWS) -> Any:
    some = tf.data.Dataset.from_tensor_slices(({"x": X[:rows]}, Y[:rows]))
    return some.repeat().batch(BATCH).prefetch(2)


def perform(turns: Turns) -> None:
    if sys.argv[1] == "predict":
        for _ in model.predict(batches, hooks=[turns], yield_single_examples=False):
            pass
    else:
        model.evaluate(batches, hooks=[turns])


model.train(lambda: batches(BATCH), steps=1)
turns = Turns(perform)
take_turns(lambda count: count * BATCH / turns.seconds_of(count), warm_up=1)
