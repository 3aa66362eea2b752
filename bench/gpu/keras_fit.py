"""Keras's fit(), 100 steps per execution: ``keras_fit.py KIND gpu|float16|compiled``."""

from __future__ import annotations

import sys
import time
from typing import Any

import keras
import tensorflow as tf
from models import KINDS, rows_of
from way import take_turns


class Layers:
    """Layers of Keras."""

    def dense(self, x: Any, units: int, activation: str | None = "relu") -> Any:
        return keras.layers.Dense(units, activation)(x)

    def convolution(self, x: Any, filters: int) -> Any:
        return keras.layers.Conv2D(filters, 3, activation="relu")(x)

    def pool(self, x: Any) -> Any:
        return keras.layers.MaxPooling2D(2)(x)

    def image(self, x: Any, shape: tuple[int, ...]) -> Any:
        return keras.layers.Reshape(shape)(x)

    def flat(self, x: Any) -> Any:
        return keras.layers.Flatten()(x)


KIND, HOW = KINDS[sys.argv[1]], sys.argv[2]
AT_ONCE = 100
if HOW == "float16":
    keras.mixed_precision.set_global_policy("mixed_float16")

rows = tf.data.Dataset.from_tensor_slices(rows_of(KIND))
batches = rows.shuffle(10_000).repeat().batch(KIND.batch_size, drop_remainder=True).prefetch(4)
x = keras.Input((KIND.width,))
model = keras.Model(x, KIND.network(x, Layers()))
model.compile(
    keras.optimizers.SGD(),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    steps_per_execution=AT_ONCE,
    jit_compile=HOW == "compiled",
)


class Clock(keras.callbacks.Callback):
    """Record the duration of an epoch."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seconds = time.perf_counter() - self.start


def measure(steps: int) -> float:
    clock = Clock()
    steps -= steps % AT_ONCE
    model.fit(batches.take(2 * AT_ONCE), steps_per_epoch=AT_ONCE, epochs=1, verbose=0)
    model.fit(batches, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[clock])
    return steps * KIND.batch_size / clock.seconds


take_turns(measure, warm_up=AT_ONCE)
