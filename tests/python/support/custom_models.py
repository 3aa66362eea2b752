"""Small model functions, trained alone and under strategies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from support import checkpoints, equality_models, inputs, models, strategies
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

v1 = tf.compat.v1
legacy = tf.keras.optimizers.legacy

STEPS, ROWS = 4, 48

numbers = np.random.default_rng(5)
X = numbers.normal(size=(ROWS, equality_models.FEATURES)).astype("float32")
Y = (X @ np.array([1.0, -2.0, 0.5, 0.25]) + 0.1).astype("float32").reshape(-1, 1)


def source(epochs: int | None = None) -> Input:
    fields = {"batch_size": 12, "epochs": epochs, "shuffle": False}
    return inputs.in_memory({"x": X, "y": Y}, **fields)


def described(model_fn: Any, directory: Path, **fields: Any) -> Model:
    return models.model("custom", directory, model_fn=model_fn, **fields)


def settings(strategy: str = "none", **fields: Any) -> RunSettings:
    return strategies.settings(strategy, **{"seed": 3, **fields})


def trained(
    model_fn: Any, directory: Path, strategy: str = "none", steps: int = STEPS, **fields: Any
) -> dict[str, Any]:
    """Train a model function and return its variables."""
    train(described(model_fn, directory, **fields), settings(strategy), source(), steps=steps)
    return checkpoints.variables(directory)


def line(features: Any) -> tuple[Any, Any]:
    """Make a linear prediction; return it and its variables."""
    zeros = v1.zeros_initializer()
    kernel = v1.get_variable("kernel", [equality_models.FEATURES, 1], initializer=zeros)
    bias = v1.get_variable("bias", [1], initializer=zeros)
    return features["x"] @ kernel + bias, [kernel, bias]


def mean_square(labels: Any, output: Any) -> Any:
    return tf.reduce_mean(tf.square(labels - output))


def get_updates(optimizer: Any, loss: Any, variables: Any) -> Any:
    optimizer.iterations = v1.train.get_or_create_global_step()
    return optimizer.get_updates(loss, variables)[0]


def clip_and_apply(optimizer: Any, loss: Any, variables: Any) -> Any:
    gradients = [tf.clip_by_value(each, -50.0, 50.0) for each in tf.gradients(loss, variables)]
    return optimizer.apply_gradients(zip(gradients, variables, strict=True))


def _with_loss_scaling(loss: Any, variables: Any) -> Any:
    scaled = tf.keras.mixed_precision.LossScaleOptimizer(
        legacy.SGD(0.1), dynamic=False, initial_scale=1
    )
    return clip_and_apply(scaled, loss, variables)


# Ways for a model function to make its training operation.
TRAIN_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "get_updates": lambda loss, ours: get_updates(legacy.SGD(0.1, momentum=0.9), loss, ours),
    "apply_gradients": lambda loss, ours: clip_and_apply(legacy.Adagrad(0.5), loss, ours),
    "clipped by the optimizer": lambda loss, ours: get_updates(
        legacy.SGD(0.1, global_clipnorm=0.5), loss, ours
    ),
    "loss scaling": _with_loss_scaling,
    "v1": lambda loss, ours: v1.train.GradientDescentOptimizer(0.1).minimize(
        loss, v1.train.get_or_create_global_step()
    ),
}


def with_optimizer(how: str, loss_of: Callable[[Any, Any], Any] = mean_square) -> Any:
    """Make the model function of a line, trained in one of the ways above."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, ours = line(features)
        loss = loss_of(labels, output)
        train_op = TRAIN_OPS[how](loss, ours) if mode == "train" else None
        return {"loss": loss, "predictions": {"y": output}, "train_op": train_op}

    return model_fn
