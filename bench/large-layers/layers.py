"""Three large layers, and one of a single unit."""

from __future__ import annotations

from typing import Any

from tfdistribute import engine

UNITS = 768


def model_fn(features: Any, labels: Any, mode: str) -> dict[str, Any]:
    """Make three layers of 768 units, and one of a single unit."""
    del mode
    tf = engine.tf
    x = features["x"]
    for _ in range(3):
        x = tf.compat.v1.layers.dense(x, UNITS, tf.nn.relu)
    output = tf.compat.v1.layers.dense(x, 1)
    return {"loss": tf.reduce_mean(tf.square(output[:, 0] - labels)), "optimizer": "sgd"}
