"""The same models in Keras, 100 steps per execution: ``keras_fit.py KIND [compiled]`` (see ``table.py``).

Strings and crosses are hashed in the dataset, as Keras advises. Its batches are gathered from the columns at once, and
numbers from one matrix, since a dataset that slices rows one by one is slower than any of the models.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import tensorflow as tf
from table import BATCH, BUCKETS, DIMENSION, FEATURES, HIDDEN, KIND, LEVELS, NAMES, Y
from way import take_turns

AT_ONCE = 100
layers = tf.keras.layers

columns = {name: tf.constant(each) for name, each in FEATURES.items() if name not in NAMES}
if NAMES[0] in FEATURES:
    columns["numbers"] = tf.constant(np.stack([FEATURES[name] for name in NAMES], 1))
labels = tf.constant(Y)
crossing, hashing = layers.HashedCrossing(BUCKETS), layers.Hashing(LEVELS)


def batch(rows: Any) -> tuple[dict[str, Any], Any]:
    found = {name: tf.gather(each, rows) for name, each in columns.items()}
    if "word" in found:
        found["codes"] = hashing(found.pop("word"))
    if "a" in found:
        found["codes"] = crossing((found.pop("a"), found.pop("b")))
    return found, tf.gather(labels, rows)


def order(_: Any) -> Any:
    rows = tf.random.shuffle(tf.range(len(Y)))[: len(Y) // BATCH * BATCH]
    return tf.data.Dataset.from_tensor_slices(tf.reshape(rows, [-1, BATCH]))


batches = (
    tf.data.Dataset.range(10**6)
    .flat_map(order)
    .map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    .prefetch(tf.data.AUTOTUNE)
)


def table(codes: Any, size: int, width: int, **settings: Any) -> Any:
    return layers.Flatten()(layers.Embedding(size, width, **settings)(codes))


def deep(values: list[Any]) -> Any:
    hidden = values[0] if len(values) == 1 else layers.Concatenate()(values)
    for units in HIDDEN:
        hidden = layers.Dense(units, "relu")(hidden)
    return layers.Dense(1)(hidden)


def logits(inputs: dict[str, Any]) -> Any:
    parts = []
    if "codes" in inputs:
        size = BUCKETS if "a" in FEATURES else LEVELS
        parts.append(table(inputs["codes"], size, 1, embeddings_initializer="zeros"))
    dense = [table(inputs["level"], LEVELS, DIMENSION)] if "level" in inputs else []
    dense += [inputs["numbers"]] if "numbers" in inputs else []
    parts += [deep(dense)] if dense else []
    return parts[0] if len(parts) == 1 else layers.Add()(parts)


inputs = {
    name: tf.keras.Input(spec.shape[1:] or (1,), name=name, dtype=spec.dtype)
    for name, spec in batches.element_spec[0].items()
}
model = tf.keras.Model(inputs, logits(inputs))
optimizer = tf.keras.optimizers.legacy
model.compile(
    optimizer.Ftrl() if KIND in ("crosses", "hashed") else optimizer.Adagrad(),
    tf.keras.losses.BinaryCrossentropy(from_logits=True),
    steps_per_execution=AT_ONCE,
    **({"jit_compile": True} if "compiled" in sys.argv else {}),
)


def measure(steps: int) -> float:
    steps = max(AT_ONCE, steps - steps % AT_ONCE)
    model.fit(batches, steps_per_epoch=AT_ONCE, verbose=0)
    started = time.perf_counter()
    model.fit(batches, steps_per_epoch=steps, verbose=0)
    return steps * BATCH / (time.perf_counter() - started)


take_turns(measure, warm_up=AT_ONCE)
