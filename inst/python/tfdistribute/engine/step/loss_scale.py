"""Loss scaling: the factor of losses whose gradients are computed in float16.

Small gradients become zero in float16, and large ones infinite. So a loss is multiplied before it is differentiated,
and its gradients are divided in float32. A micro-batch whose gradients are infinite is computed again with half the
factor: no step is left out, and the numbers do not depend on the factor. It is kept for the next step, and not in
checkpoints, which are the same for every precision.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

raw = tf.raw_ops

_FIRST = 2.0**15
_LARGEST = 2.0**24
# Micro-batches without an infinite gradient before the factor is doubled, as in TensorFlow's LossScaleOptimizer.
_PATIENCE = 2000.0

# The factor, and the micro-batches since it has changed.
UNSCALED = (1.0, 0.0)


class LossScale:
    """The factor from step to step, in a session."""

    def __init__(self) -> None:
        name = tf.compat.v1.get_default_graph().unique_name("loss_scale")
        self._variable = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name=name)

    def read(self) -> Any:
        """Return the factor, and the micro-batches since it has changed."""
        # Without an initializer, which a session would have to know.
        return tf.cond(
            raw.VarIsInitializedOp(resource=self._variable),
            lambda: raw.ReadVariableOp(resource=self._variable, dtype=tf.float32),
            lambda: tf.constant([_FIRST, 0.0]),
        )

    def write(self, scale: Any) -> Any:
        """Keep the factor for the next step; return the operation."""
        doubled = tf.stack([tf.minimum(scale[0] * 2.0, _LARGEST), 0.0])
        next_scale = tf.where(scale[1] >= _PATIENCE, doubled, scale)
        return raw.AssignVariableOp(resource=self._variable, value=next_scale)


def is_usable(scale: Any, gradients: list[Any]) -> Any:
    """Return whether the gradients of a micro-batch are finite, or are infinite without a factor, too."""
    finite = [tf.reduce_all(tf.math.is_finite(each)) for each in gradients]
    return tf.logical_or(tf.reduce_all(finite), scale[0] <= 1.0)


def after_micro_batch(scale: Any, usable: Any) -> Any:
    """Return the factor, and the micro-batches since it has changed, after another one."""
    return tf.where(usable, scale + [0.0, 1.0], scale * [0.5, 0.0])
