"""Keras's predict() or evaluate() of all rows, with the fastest of several batches: ``keras_model.py predict``."""

from __future__ import annotations

import sys
import time

import tensorflow as tf
from rows import BATCHES, HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

layers = [tf.keras.layers.Dense(units, "relu") for units in HIDDEN]
model = tf.keras.Sequential([tf.keras.Input(WIDTH), *layers, tf.keras.layers.Dense(1)])
model.compile(
    loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[
        tf.keras.metrics.BinaryAccuracy(threshold=0.0),
        tf.keras.metrics.AUC(from_logits=True),
    ],
    steps_per_execution=20,
)


def rows_per_second(batch: int) -> float:
    started = time.perf_counter()
    if sys.argv[1] == "predict":
        model.predict(X, batch_size=batch, verbose=0)
    else:
        model.evaluate(X, Y, batch_size=batch, verbose=0)
    return ROWS / (time.perf_counter() - started)


best = max(BATCHES, key=lambda batch: max(rows_per_second(batch) for _ in range(2)))
take_turns(lambda passes: max(rows_per_second(best) for _ in range(passes)))
