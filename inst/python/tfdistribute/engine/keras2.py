"""Modules of Keras 2, with which Estimators are written: of TensorFlow 2.15 itself, later of the package tf_keras."""

import importlib
from typing import Any

import tensorflow as tf

# On newer versions, the package keras is Keras 3.
_PACKAGE = tf.keras.Model.__module__.partition(".")[0]


def _module(name: str) -> Any:
    return importlib.import_module(f"{_PACKAGE}.src.{name}")


backend = _module("backend")
base_layer = _module("engine.base_layer")
base_layer_v1 = _module("engine.base_layer_v1")
compile_utils = _module("engine.compile_utils")
metrics = _module("metrics")
optimizer_utils = _module("optimizers.utils")
