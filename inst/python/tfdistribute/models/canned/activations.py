"""Activation functions of canned models, by name.

Names of TensorFlow and Keras come first. The others are names that tidymodels' `dials::activation()` also draws, with
the definitions of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfdistribute import engine
from tfdistribute.models.canned.parts import Activation

_OF_DIALS: dict[str, Callable[[Any], Any]] = {
    "celu": lambda x: engine.tf.nn.elu(x),
    "hardshrink": lambda x: engine.tf.where(engine.tf.abs(x) > 0.5, x, engine.tf.zeros_like(x)),
    "hardsigmoid": lambda x: engine.tf.nn.relu6(x + 3) / 6,
    "hardtanh": lambda x: engine.tf.clip_by_value(x, -1, 1),
    "log_sigmoid": lambda x: engine.tf.math.log_sigmoid(x),
    "softshrink": lambda x: x - engine.tf.clip_by_value(x, -0.5, 0.5),
    "tanhshrink": lambda x: x - engine.tf.tanh(x),
}


def find_activation(value: Activation) -> Any:
    if not isinstance(value, str):
        return value
    return (
        getattr(engine.tf.nn, value, None)
        or getattr(engine.tf.keras.activations, value, None)
        or _OF_DIALS[value]
    )


def activation_name(value: Activation) -> str:
    return value if isinstance(value, str) else "function"
