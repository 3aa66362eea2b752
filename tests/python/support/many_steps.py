"""Small trainings with many steps per run, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from support import equality_models as models
from support import strategies
from support.checkpoints import variables
from support.inputs import Factor, in_memory
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History
from tfdistribute.training.hooks import read_hooks
from tfdistribute.training.train import train

# 44 rows: with batches of 8 the last step of three epochs has 4 rows.
ROWS, BATCH, EPOCHS, STEPS = 44, 8, 3, 17
numbers = np.random.default_rng(5)
X = numbers.normal(size=(ROWS, models.FEATURES)).astype("float32")
Y = (X @ np.array([1.0, -2.0, 0.5, 0.25]) + 0.1).astype("float32").reshape(-1, 1)
WORDS = np.array(["red", "green", "blue"], object)
CODES = numbers.integers(0, 3, ROWS)


def source(epochs: int | None = EPOCHS, label: Any = Y, batch_size: int = BATCH) -> Input:
    columns = {"x": X, "word": Factor(CODES, WORDS), "y": label}
    return in_memory(columns, batch_size=batch_size, epochs=epochs)


def custom(model_fn: Any) -> dict[str, Any]:
    return {"kind": "custom", "model_fn": model_fn}


def descent(mode: str, loss: Any) -> Any:
    """Return the specification of a model function that trains by gradient descent."""
    step = tf.compat.v1.train.get_global_step()
    train_op = tf.compat.v1.train.GradientDescentOptimizer(0.01).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


VOCABULARY = {
    "kind": "categorical_with_vocabulary_list",
    "key": "word",
    "vocabulary_list": list(WORDS),
}


def keras_with_dropout() -> Any:
    layers = tf.keras.layers
    x = tf.keras.Input((models.FEATURES,), name="x")
    hidden = layers.BatchNormalization()(layers.Dense(4, activation="tanh")(x))
    output = layers.Dense(1)(layers.GaussianNoise(0.1)(layers.Dropout(0.3)(hidden)))
    model = tf.keras.Model(x, output)
    model.compile(tf.keras.optimizers.legacy.Adam(0.01), "mse")
    return model


# Slots, update operations, sparse gradients, tables of words, random numbers.
MODELS: dict[str, dict[str, Any]] = {
    "words and dropout": {
        "kind": "dnn_regressor",
        "hidden_units": [8, 4],
        "feature_columns": [
            {"kind": "numeric", "key": "x", "shape": [models.FEATURES]},
            {"kind": "embedding", "categorical_column": VOCABULARY, "dimension": 2},
        ],
        "dropout": 0.4,
        "optimizer": {"kind": "named", "name": "Adam", "settings": {"learning_rate": 0.01}},
    },
    "sparse": {"kind": "linear_regressor", "feature_columns": [VOCABULARY]},
    "batch norm": custom(models.batch_norm_with_adam),
    "embedding": custom(models.embedding_with_adagrad),
    "two optimizers": custom(models.two_optimizers),
    "loss scale": custom(models.loss_scale),
    "keras": {"kind": "keras", "function": keras_with_dropout},
}

LOOP: dict[str, Any] = {
    "kind": "training_loop",
    "build_parts": lambda: {
        "layer": tf.keras.layers.Dense(1),
        "optimizer": tf.keras.optimizers.legacy.SGD(0.01),
    },
    "train_step": lambda parts, features, labels: {"loss": _far(parts, features, labels)},
    "eval_step": lambda parts, features, labels: {
        "loss": _far(parts, features, labels),
        "of_batches": tf.square(tf.reduce_sum(parts["layer"](features["x"]))),
    },
    "predict_step": lambda parts, features: {"y": parts["layer"](features["x"])},
}


def _far(parts: Any, features: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.square(parts["layer"](features["x"]) - labels))


def described(name: str | dict[str, Any], directory: Path) -> Model:
    fields = MODELS[name] if isinstance(name, str) else name
    return read(Model, {**fields, "model_dir": str(directory)})


def settings(steps_per_run: int | str, strategy: str = "none", **fields: Any) -> RunSettings:
    fields = {"seed": 3, **fields, "steps_per_run": steps_per_run}
    return strategies.settings(strategy, **fields)


def trained(
    model: str | dict[str, Any],
    directory: Path,
    steps_per_run: int | str,
    strategy: str = "none",
    hooks: Sequence[Any] = (),
    data: Input | None = None,
    steps: int | None = None,
    **fields: Any,
) -> tuple[dict[str, Any], History]:
    """Variables of the newest checkpoint, and the history."""
    history = train(
        described(model, directory),
        settings(steps_per_run, strategy, **fields),
        data or source(),
        hooks=read_hooks([{"kind": "history_saver", "every_n_steps": 1}, *hooks]),
        steps=steps,
    )
    return variables(directory), history
