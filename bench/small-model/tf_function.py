"""Hand-written tf.function of 100 steps: ``tf_function.py iterator`` or ``tf_function.py resident``.

``iterator`` reads the Estimator's tf.data pipeline. ``resident`` gathers batches from a tensor of all rows, the limit
of what TensorFlow can do with this model.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import tensorflow as tf
from data import BATCH, HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

STEPS = 100
rows = tf.data.Dataset.from_tensor_slices((X, Y.astype("float32")))
batches = iter(rows.shuffle(10_000).repeat().batch(BATCH, drop_remainder=True).prefetch(2))
all_x, all_y = tf.constant(X), tf.constant(Y, tf.float32)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Input(WIDTH),
        *(tf.keras.layers.Dense(units, "relu") for units in HIDDEN),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.legacy.Adagrad()


def step(x: Any, y: Any) -> None:
    with tf.GradientTape() as tape:
        logits = tf.squeeze(model(x, training=True), 1)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_mean(losses)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


@tf.function
def steps_of_iterator() -> None:
    for _ in tf.range(STEPS):
        step(*next(batches))


@tf.function
def steps_of_tensor() -> None:
    for _ in tf.range(STEPS):
        chosen = tf.random.uniform([BATCH], maxval=ROWS, dtype=tf.int32)
        step(tf.gather(all_x, chosen), tf.gather(all_y, chosen))


run = steps_of_iterator if sys.argv[1] == "iterator" else steps_of_tensor


def measure(steps: int) -> float:
    started = time.perf_counter()
    for _ in range(steps // STEPS):
        run()
    return steps // STEPS * STEPS * BATCH / (time.perf_counter() - started)


take_turns(measure, warm_up=STEPS)
