"""Hand-written tf.function of many steps: ``tf_function.py iterator``, ``resident`` or ``compiled``.

``iterator`` reads the Estimator's tf.data pipeline. ``resident`` gathers batches from a tensor of all rows, the limit
of what TensorFlow can do with this model unless XLA compiles it. ``compiled`` is the same, compiled, on one thread.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import tensorflow as tf
from data import BATCH, HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

IS_COMPILED = sys.argv[1] == "compiled"
STEPS = 1500 if IS_COMPILED else 100
if IS_COMPILED:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
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


@tf.function(jit_compile=True)
def steps_of_numbers(numbers: Any) -> None:
    for index in tf.range(STEPS):
        step(tf.gather(all_x, numbers[index]), tf.gather(all_y, numbers[index]))


def compiled_steps() -> None:
    numbers = np.random.default_rng().permutation(ROWS)[: STEPS * BATCH].astype(np.int32)
    steps_of_numbers(tf.constant(numbers.reshape(STEPS, BATCH)))


if IS_COMPILED:
    # A compiled function cannot make variables, as the optimizer does in its first step.
    step(all_x[:BATCH], all_y[:BATCH])
run = {
    "iterator": steps_of_iterator,
    "resident": steps_of_tensor,
    "compiled": compiled_steps,
}[sys.argv[1]]


def measure(steps: int) -> float:
    started = time.perf_counter()
    for _ in range(steps // STEPS):
        run()
    return steps // STEPS * STEPS * BATCH / (time.perf_counter() - started)


take_turns(measure, warm_up=STEPS)
