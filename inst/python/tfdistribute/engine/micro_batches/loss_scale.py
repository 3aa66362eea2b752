"""The factor of losses whose gradients are computed in float16.

Small gradients become zero in float16, and large ones infinite. So a loss is multiplied before it is differentiated,
and its gradients are divided in float32. A turn whose gradients are infinite is done again with half the factor: no
step is left out, and the numbers do not depend on the factor. It is kept for the next step, and not in checkpoints,
which are the same for every precision.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

raw = tf.raw_ops

_FIRST = 2.0**15
_LARGEST = 2.0**24
# Turns without an infinite gradient before the factor is doubled, as in TensorFlow's LossScaleOptimizer.
_PATIENCE = 2000.0

# The factor, and the turns since it has changed.
UNSCALED = (1.0, 0.0)


class State:
    """The factor from step to step, in a session."""

    def __init__(self) -> None:
        name = tf.compat.v1.get_default_graph().unique_name("loss_scale")
        self._held = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name=name, name="held")

    def read(self) -> Any:
        """Return the factor, and the turns since it has changed."""
        # Without an initializer, which a session would have to know.
        return tf.cond(
            raw.VarIsInitializedOp(resource=self._held),
            lambda: raw.ReadVariableOp(resource=self._held, dtype=tf.float32),
            lambda: tf.constant([_FIRST, 0.0]),
        )

    def write(self, scale: Any) -> Any:
        """Keep the factor for the next step; return the operation."""
        grown = tf.stack([tf.minimum(scale[0] * 2.0, _LARGEST), 0.0])
        kept = tf.where(scale[1] >= _PATIENCE, grown, scale)
        return raw.AssignVariableOp(resource=self._held, value=kept)


def counts(scale: Any, gradients: list[Any]) -> Any:
    """Return whether a turn counts: its gradients are finite, or are infinite without a factor, too."""
    finite = [tf.reduce_all(tf.math.is_finite(each)) for each in gradients]
    return tf.logical_or(tf.reduce_all(finite), scale[0] <= 1.0)


def after_turn(scale: Any, counted: Any) -> Any:
    """Return the state after a turn."""
    kept = tf.stack([scale[0], scale[1] + 1.0])
    return tf.where(counted, kept, tf.stack([scale[0] / 2.0, 0.0]))
