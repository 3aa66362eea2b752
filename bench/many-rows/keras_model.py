"""Keras's predict() or evaluate() of all rows, with the fastest of several batches: ``keras_model.py predict``.

``keras_model.py evaluate`` computes the metrics of the Estimator, ``keras_model.py evaluate-less`` only three of them.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import tensorflow as tf
from rows import BATCHES, HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

metrics = tf.keras.metrics


def _probability(labels: Any, logits: Any) -> Any:
    del labels
    return tf.sigmoid(logits)


def _label(labels: Any, logits: Any) -> Any:
    del logits
    return labels


few = [metrics.BinaryAccuracy(threshold=0.0), metrics.AUC(from_logits=True)]
others = [
    metrics.AUC(curve="PR", from_logits=True),
    metrics.Precision(thresholds=0.0),
    metrics.Recall(thresholds=0.0),
    metrics.MeanMetricWrapper(_probability),
    metrics.MeanMetricWrapper(_label),
]
layers = [tf.keras.layers.Dense(units, "relu") for units in HIDDEN]
model = tf.keras.Sequential([tf.keras.Input(WIDTH), *layers, tf.keras.layers.Dense(1)])
model.compile(
    loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[*few, *(others if sys.argv[1] == "evaluate" else [])],
    steps_per_execution=20,
)


def rows_per_second(batch: int) -> float:
    started = time.perf_counter()
    if sys.argv[1] == "predict":
        model.predict(X, batch_size=batch, verbose=0)
    else:
        model.evaluate(X, Y, batch_size=batch, verbose=0)
    return ROWS / (time.perf_counter() - started)


def measure(passes: int) -> float:
    if not speeds:
        # In the first turn, because other ways start before it.
        for batch in BATCHES * 2:
            speeds[batch] = max(rows_per_second(batch), speeds.get(batch, 0.0))
    best = max(speeds, key=speeds.__getitem__)
    return max(rows_per_second(best) for _ in range(passes))


speeds: dict[int, float] = {}
for each in BATCHES:
    # Keras makes a graph for each.
    rows_per_second(each)
take_turns(measure)
