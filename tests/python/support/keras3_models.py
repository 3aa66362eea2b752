"""Small Keras 3 models, their data, and their training by Keras 3 alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support import inputs, keras_models, models
from support.keras_models import BATCH, BOTH, HEIGHT, PRICE, ROWS, WIDTH
from tfdistribute.engine import tf
from tfdistribute.inputs import Input
from tfdistribute.models import Model

import keras  # isort: skip - Keras 3 after the engine, which must leave it as it is

layers = keras.layers
IMAGES = np.random.default_rng(5).normal(size=(ROWS, 6, 6, 1)).astype("float32")
TOKENS = np.random.default_rng(6).integers(0, 9, size=(ROWS, 5)).astype("int32")


def _sequential(shape: tuple[int, ...], *middle: Any, dtype: str = "float32") -> Any:
    return keras.Sequential(
        [keras.Input(shape, name="x", dtype=dtype), *middle, layers.Dense(1, name="price")]
    )


def _two_inputs() -> Any:
    width, height = keras.Input((1,), name="width"), keras.Input((1,), name="height")
    hidden = layers.Dense(3, "tanh")(layers.Concatenate()([width, height]))
    outputs = [layers.Dense(1, name="price")(hidden), layers.Dense(1, name="other")(hidden)]
    return keras.Model([width, height], outputs)


def _synchronised() -> Any:
    return layers.BatchNormalization(synchronized=True)


def _mixed() -> list[Any]:
    """Make layers that compute in bfloat16, and keep their weights in float32."""
    policy = {"dtype": "mixed_bfloat16"}
    return [layers.Dense(8, "tanh", **policy), layers.BatchNormalization(**policy)]


# Each with the data of its input "x".
MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "dense": (
        lambda: _sequential((2,), layers.Dense(4, "tanh", kernel_regularizer="l2")),
        BOTH,
    ),
    "batch normalisation": (
        lambda: _sequential((2,), layers.Dense(4, "relu"), layers.BatchNormalization()),
        BOTH,
    ),
    # The only one that normalises over all replicas, so that it is the same on one device and on several.
    "synchronised": (
        lambda: _sequential((2,), layers.Dense(4, "tanh"), _synchronised(), layers.Dense(3)),
        BOTH,
    ),
    "convolution": (
        lambda: _sequential((6, 6, 1), layers.Conv2D(2, 3, activation="relu"), layers.Flatten()),
        IMAGES,
    ),
    "embedding": (
        lambda: _sequential((5,), layers.Embedding(9, 3), layers.Flatten(), dtype="int32"),
        TOKENS,
    ),
    "lstm": (
        lambda: _sequential((5,), layers.Embedding(9, 3), layers.LSTM(4), dtype="int32"),
        TOKENS,
    ),
    "mixed precision": (lambda: _sequential((2,), *_mixed()), BOTH),
    "dropout": (lambda: _sequential((2,), layers.Dense(64), layers.Dropout(0.5, seed=1)), BOTH),
}

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: keras.optimizers.SGD(0.05, momentum=0.5),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "adamw": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1, global_clipnorm=1.0),
    "schedule": lambda: keras.optimizers.RMSprop(
        keras.optimizers.schedules.ExponentialDecay(0.01, 3, 0.5)
    ),
    "averages": lambda: keras.optimizers.SGD(
        0.05, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=4
    ),
}


def built(name: str = "dense", optimizer: str = "sgd", **options: Any) -> Any:
    # Adaptive optimizers can enlarge a rounding error beyond a test's bound, depending on the first weights.
    keras.utils.set_random_seed(1)
    model = MODELS[name][0]()
    model.compile(OPTIMIZERS[optimizer](), **{"loss": "mse", "metrics": ["mae"], **options})
    return model


def two_headed(**options: Any) -> Any:
    model = _two_inputs()
    loss = {"price": "mse", "other": keras.losses.Huber()}
    options = options or {"loss": loss, "loss_weights": {"price": 1.0, "other": 0.5}}
    model.compile("adam", **options)
    return model


def described(directory: Path, model: Any) -> Model:
    """Describe the file of a model."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory.parent / f"{directory.name}.keras"
    model.save(path)
    return keras_models.from_file(directory, path)


def from_function(directory: Path, function: Callable[[], Any]) -> Model:
    return models.model("keras", directory, function=function)


def source(name: str = "dense", epochs: int | None = None, batch_size: int = BATCH) -> Input:
    """Describe the rows of a model's input "x"."""
    data = MODELS[name][1]
    fields = {"batch_size": batch_size, "epochs": epochs, "shuffle": False}
    if data.ndim == 2:
        return inputs.in_memory({"x": data, "y": PRICE}, **fields)
    rows = lambda: (  # noqa: E731 - an input of more dimensions comes from a function
        tf.data.Dataset.from_tensor_slices(({"x": data}, PRICE))
        .repeat(epochs)
        .batch(batch_size, drop_remainder=True)
    )
    return inputs.from_function(rows)


def two_responses() -> Any:
    features = {"width": WIDTH, "height": HEIGHT}
    responses = {"price": PRICE, "other": -PRICE}
    return tf.data.Dataset.from_tensor_slices((features, responses)).repeat().batch(BATCH)


def fitted(model: Any, data: Any, steps: int) -> Any:
    """Train with Keras 3 alone, on one device."""
    batches = tf.data.Dataset.from_tensor_slices((data, PRICE)).repeat().batch(BATCH)
    model.fit(batches, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=0)
    return model
