"""Layers of TensorFlow 1, and the loss of a model."""

from __future__ import annotations

from typing import Any

from models import Kind

from tfdistribute import engine

# A newer TensorFlow has Estimators once the engine is started.
tf = engine.tf
v1 = tf.compat.v1


class Layers:
    def dense(self, x: Any, units: int, activation: str | None = "relu") -> Any:
        return v1.layers.dense(x, units, activation and tf.nn.relu)

    def convolution(self, x: Any, filters: int) -> Any:
        return v1.layers.conv2d(x, filters, 3, activation=tf.nn.relu)

    def pool(self, x: Any) -> Any:
        return v1.layers.max_pooling2d(x, 2, 2)

    def image(self, x: Any, shape: tuple[int, ...]) -> Any:
        return tf.reshape(x, [-1, *shape])

    def flat(self, x: Any) -> Any:
        return v1.layers.flatten(x)


def loss_of(kind: Kind, features: Any, labels: Any) -> Any:
    """Return the mean loss of a batch."""
    return v1.losses.sparse_softmax_cross_entropy(labels, kind.network(features["x"], Layers()))
