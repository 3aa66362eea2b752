"""TensorFlow's own Estimators with all defaults: ``estimator.py KIND`` (see ``table.py``).

One training lasts over all turns, because making the graph of 2,000 columns takes longer than a turn.
"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
from typing import Any

import tensorflow as tf
from table import BATCH, BUCKETS, DIMENSION, FEATURES, HIDDEN, KIND, LEVELS, NAMES, Y
from way import take_turns

column = tf.feature_column
PREFETCHED = 2


def model(directory: str) -> Any:
    crossed = column.crossed_column(
        [column.categorical_column_with_identity(name, 2000) for name in "ab"], BUCKETS
    )
    level = column.categorical_column_with_identity("level", LEVELS)
    embedded = column.embedding_column(level, DIMENSION)
    numbers = [column.numeric_column(name) for name in NAMES]
    if KIND == "crosses":
        return tf.estimator.LinearClassifier([crossed], model_dir=directory)
    if KIND == "hashed":
        word = column.categorical_column_with_hash_bucket("word", LEVELS)
        return tf.estimator.LinearClassifier([word], model_dir=directory)
    if KIND == "wide-and-deep":
        return tf.estimator.DNNLinearCombinedClassifier(
            directory, [crossed], dnn_feature_columns=[embedded, *numbers], dnn_hidden_units=HIDDEN
        )
    columns = [embedded] if KIND == "embedding" else numbers
    return tf.estimator.DNNClassifier(HIDDEN, columns, model_dir=directory)


def batches() -> Any:
    rows = tf.data.Dataset.from_tensor_slices((FEATURES, Y))
    return rows.shuffle(10_000).repeat().batch(BATCH).prefetch(PREFETCHED)


class Turns(tf.estimator.SessionRunHook):
    """Let the training wait until the steps of a turn are asked for, and time them."""

    def __init__(self) -> None:
        self.asked: queue.Queue[int] = queue.Queue()
        self.seconds: queue.Queue[float] = queue.Queue()
        self._left = 1

    def before_run(self, run_context: Any) -> None:
        if self._left == 1:
            self._left = self.asked.get()
            self._began = time.perf_counter()
        else:
            self._left -= 1

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._left == 1:
            self.seconds.put(time.perf_counter() - self._began)


def train() -> None:
    with tempfile.TemporaryDirectory() as directory:
        model(directory).train(batches, hooks=[turns])


def seconds_of(steps: int) -> float:
    turns.asked.put(steps)
    return turns.seconds.get()


def measure(steps: int) -> float:
    # The batches that were read before the turn.
    seconds_of(PREFETCHED + 1)
    return steps * BATCH / seconds_of(steps)


turns = Turns()
threading.Thread(target=train, daemon=True).start()
# The first step also starts TensorFlow.
seconds_of(1)
take_turns(measure)
