"""Keras's fit() with 100 steps per execution."""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf
from data import BATCH, HIDDEN, WIDTH, X, Y
from way import take_turns

rows = tf.data.Dataset.from_tensor_slices((X, Y))
batches = rows.shuffle(10_000).repeat().batch(BATCH, drop_remainder=True).prefetch(2)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Input(WIDTH),
        *(tf.keras.layers.Dense(units, "relu") for units in HIDDEN),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(
    tf.keras.optimizers.Adagrad(),
    tf.keras.losses.BinaryCrossentropy(from_logits=True),
    steps_per_execution=100,
)


class Clock(tf.keras.callbacks.Callback):
    """Record the duration of an epoch."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seconds = time.perf_counter() - self.start


def measure(steps: int) -> float:
    clock = Clock()
    steps -= steps % 100
    model.fit(batches.take(steps + 200), steps_per_epoch=100, epochs=1, verbose=0)
    model.fit(batches, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[clock])
    return steps * BATCH / clock.seconds


take_turns(measure)
