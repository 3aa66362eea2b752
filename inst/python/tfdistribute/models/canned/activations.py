"""Activation functions of canned models, by name.

Names of TensorFlow and Keras come first. The others are names that tidymodels' `dials::activation()` also draws, with
the definitions of PyTorch.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tfdistribute import engine
from tfdistribute.errors import UnsupportedError
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


def keras_activation(value: Activation) -> Any:
    """Return the name in Keras 3 of an activation, or a user's function; UnsupportedError if Keras lacks it."""
    if not isinstance(value, str):
        return value
    activations, numbers = (
        engine.keras.keras_3().activations,
        np.linspace(-4, 4, 42, dtype="float32").reshape(21, 2),
    )
    wanted = np.asarray(find_activation(cast(Activation, value))(engine.tf.constant(numbers)))
    for name in dir(activations):
        # Some functions of one name differ between TensorFlow and Keras 3.
        if name.replace("_", "") == value.replace("_", "").lower():
            found = np.asarray(activations.get(name)(numbers))
            if found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-6):
                return name
    raise UnsupportedError(
        f'`activation_fn` "{value}" has no equal in Keras 3.',
        "Use export_savedmodel().",
        value=value,
    )


def activation_name(value: Activation) -> str:
    return value if isinstance(value, str) else "function"
