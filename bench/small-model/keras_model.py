"""The small model in Keras."""

from __future__ import annotations

from typing import Any

from data import HIDDEN, WIDTH


def built(keras: Any, steps_per_execution: int = 1, **settings: Any) -> Any:
    """Build and compile the model with Keras 2 or Keras 3."""
    layers = [keras.layers.Dense(units, "relu") for units in HIDDEN]
    model = keras.Sequential([keras.Input((WIDTH,), name="x"), *layers, keras.layers.Dense(1)])
    model.compile(
        keras.optimizers.Adagrad(),
        keras.losses.BinaryCrossentropy(from_logits=True),
        steps_per_execution=steps_per_execution,
        **settings,
    )
    return model
