"""TensorFlow's own DNNClassifier with all its defaults: ``estimator.py wide`` or ``estimator.py columns``."""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any

import tensorflow as tf
from data import BATCH, COLUMNS, HIDDEN, WIDTH, X, Y
from way import take_turns

wide = sys.argv[1] == "wide"
features = {"x": X} if wide else {name: X[:, index] for index, name in enumerate(COLUMNS)}
numeric = tf.feature_column.numeric_column
columns = [numeric("x", WIDTH)] if wide else [numeric(name) for name in COLUMNS]


def input_fn() -> Any:
    rows = tf.data.Dataset.from_tensor_slices((features, Y))
    return rows.shuffle(10_000).repeat().batch(BATCH).prefetch(2)


class Clock(tf.compat.v1.train.SessionRunHook):
    """Record when the first tenth of the steps was done, and when the last."""

    def __init__(self, steps: int) -> None:
        self.first, self.steps = steps // 10, 0
        self.started = self.ended = 0.0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.steps += 1
        self.ended = time.perf_counter()
        if self.steps == self.first:
            self.started = self.ended


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        model = tf.estimator.DNNClassifier(HIDDEN, columns, model_dir=directory)
        clock = Clock(steps)
        model.train(input_fn, hooks=[clock], steps=steps)
        return (clock.steps - clock.first) * BATCH / (clock.ended - clock.started)


take_turns(measure)
