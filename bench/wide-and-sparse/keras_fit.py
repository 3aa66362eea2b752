"""The same models in Keras, 100 steps per execution: ``keras_fit.py KIND`` (see ``table.py``)."""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf
from table import BATCH, BUCKETS, DIMENSION, FEATURES, HIDDEN, KIND, LEVELS, NAMES, Y
from way import take_turns

AT_ONCE = 100
layers = tf.keras.layers
inputs = {
    name: tf.keras.Input((1,), name=name, dtype=tf.as_dtype(getattr(values, "dtype", "float32")))
    if values.dtype != object
    else tf.keras.Input((1,), name=name, dtype=tf.string)
    for name, values in FEATURES.items()
}


def linear(codes: Any, size: int) -> Any:
    return layers.Flatten()(layers.Embedding(size, 1, embeddings_initializer="zeros")(codes))


def deep(values: list[Any]) -> Any:
    hidden = values[0] if len(values) == 1 else layers.Concatenate()(values)
    for units in HIDDEN:
        hidden = layers.Dense(units, "relu")(hidden)
    return layers.Dense(1)(hidden)


def crossed() -> Any:
    return linear(layers.HashedCrossing(BUCKETS)((inputs["a"], inputs["b"])), BUCKETS)


def logits() -> Any:
    if KIND == "crosses":
        return crossed()
    if KIND == "hashed":
        return linear(layers.Hashing(LEVELS)(inputs["word"]), LEVELS)
    if KIND in ("embedding", "wide-and-deep"):
        embedded = layers.Flatten()(layers.Embedding(LEVELS, DIMENSION)(inputs["level"]))
        if KIND == "embedding":
            return deep([embedded])
        return layers.Add()([crossed(), deep([embedded, *(inputs[name] for name in NAMES)])])
    return deep([inputs[name] for name in NAMES])


model = tf.keras.Model(inputs, logits())
optimizer = tf.keras.optimizers.legacy
model.compile(
    optimizer.Ftrl() if KIND in ("crosses", "hashed") else optimizer.Adagrad(),
    tf.keras.losses.BinaryCrossentropy(from_logits=True),
    steps_per_execution=AT_ONCE,
)
rows = tf.data.Dataset.from_tensor_slices((FEATURES, Y)).shuffle(10_000).repeat()
batches = rows.batch(BATCH, drop_remainder=True).prefetch(2)


def measure(steps: int) -> float:
    steps = max(AT_ONCE, steps - steps % AT_ONCE)
    model.fit(batches, steps_per_epoch=AT_ONCE, verbose=0)
    started = time.perf_counter()
    model.fit(batches, steps_per_epoch=steps, verbose=0)
    return steps * BATCH / (time.perf_counter() - started)


take_turns(measure)
