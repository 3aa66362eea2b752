"""Small Keras models, their data, and their training by Keras alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from support import inputs, models, strategies
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.variables import variable_names, variable_value

ROWS, BATCH = 96, 16

numbers = np.random.default_rng(3)
WIDTH = numbers.normal(size=ROWS).astype("float32")
HEIGHT = numbers.normal(size=ROWS).astype("float32")
BOTH = np.stack([WIDTH, HEIGHT], axis=1)
PRICE = (WIDTH - 2 * HEIGHT).astype("float32")

keras = tf.keras
legacy = keras.optimizers.legacy


def built(optimizer: Any = None, loss: Any = "mse", middle: Any = None) -> Any:
    """Compile two layers that read two numbers, with an optional layer between them."""
    layers = keras.layers
    first = layers.Dense(4, activation="tanh", kernel_regularizer="l2", input_shape=(2,))
    last = layers.Dense(1, name="price")
    model = keras.Sequential([first, last] if middle is None else [first, middle, last])
    model.compile(optimizer or legacy.SGD(0.05, momentum=0.5), loss, metrics=["mae"])
    return model


def two_headed(losses: Any = None) -> Any:
    """Compile a model with two named inputs and two outputs; Keras would number the second output."""
    layers = keras.layers
    width, height = keras.Input((1,), name="width"), keras.Input((1,), name="height")
    hidden = layers.Dense(3, activation="tanh")(layers.Concatenate()([width, height]))
    outputs = [layers.Dense(1, name="price")(hidden), layers.Dense(2, name="head_1")(hidden)]
    model = keras.Model([width, height], outputs)
    model.compile(legacy.SGD(0.05), losses or {"price": "mse", "head_1": "mae"})
    return model


def fitted(model: Any, steps: int) -> Any:
    """Train with Keras alone, on one device."""
    batches = tf.data.Dataset.from_tensor_slices((BOTH, PRICE)).repeat().batch(BATCH)
    model.fit(batches, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=0)
    return model


def described(directory: Path, function: Callable[[], Any] = built) -> Model:
    """Describe the model that a function makes."""
    return models.model("keras", directory, function=function)


def from_file(directory: Path, path: Path, **fields: Any) -> Model:
    """Describe the model of a file."""
    return models.model("keras", directory, path=str(path), **fields)


def settings(strategy: str = "none", evaluation: str = "none", **fields: Any) -> RunSettings:
    eval_distribute = strategies.STRATEGIES[evaluation]
    fields = {"seed": 5, "steps_per_run": 1, **fields}
    return strategies.settings(strategy, eval_distribute=eval_distribute, **fields)


def source(
    names: tuple[str, ...] = ("width", "height"),
    batch_size: int = BATCH,
    epochs: int | None = None,
) -> Input:
    data = {"width": WIDTH, "height": HEIGHT, "both": BOTH}
    columns = {**{name: data[name] for name in names}, "y": PRICE}
    fields = {"batch_size": batch_size, "epochs": epochs, "shuffle": False}
    return inputs.in_memory(columns, **fields)


def two_responses() -> Any:
    """Make a dataset whose examples have one response per output."""
    features = {"width": WIDTH, "height": HEIGHT}
    responses = {"price": PRICE, "head_1": BOTH}
    return tf.data.Dataset.from_tensor_slices((features, responses)).repeat().batch(BATCH)


def weights(directory: Path) -> dict[str, Any]:
    names = variable_names(str(directory))
    return {name: variable_value(str(directory), name) for name in names}
