"""Keras's fit(), of the TensorFlow that runs this: ``keras_fit.py [STEPS-PER-EXECUTION [compiled]]``, or 100."""

from __future__ import annotations

import sys
import time
from typing import Any

import tensorflow as tf
from data import BATCH, X, Y
from keras_model import built
from way import take_turns

AT_ONCE = int(sys.argv[1]) if len(sys.argv) > 1 else 100

rows = tf.data.Dataset.from_tensor_slices((X, Y))
batches = rows.shuffle(10_000).repeat().batch(BATCH, drop_remainder=True).prefetch(2)
# Only TRUE compiles: without it, Keras 3 chooses.
model = built(tf.keras, AT_ONCE, **({"jit_compile": True} if "compiled" in sys.argv else {}))


class Clock(tf.keras.callbacks.Callback):
    """Record the duration of an epoch."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seconds = time.perf_counter() - self.start


def measure(steps: int) -> float:
    clock = Clock()
    steps -= steps % AT_ONCE
    model.fit(batches.take(steps + 2 * AT_ONCE), steps_per_epoch=AT_ONCE, epochs=1, verbose=0)
    model.fit(batches, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[clock])
    return steps * BATCH / clock.seconds


take_turns(measure, warm_up=AT_ONCE)
