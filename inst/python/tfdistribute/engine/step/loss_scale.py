"""Loss scaling: the factor of losses whose gradients are computed in float16.

A micro-batch whose gradients are infinite is computed again with half the factor, so the numbers do not depend on it.
The factor is kept for the next step, but not in checkpoints, which are the same for every precision.
"""

from typing import Any

import tensorflow as tf

raw = tf.raw_ops

_FIRST = 2.0**15
_LARGEST = 2.0**24
# Micro-batches without an infinite gradient before the factor is doubled, as in TensorFlow's LossScaleOptimizer.
_PATIENCE = 2000.0


def _on_cpu() -> Any:
    """Place operations on two numbers, each of which would take a GPU longer than a CPU."""
    return tf.device("/cpu:0")


class LossScale:
    """The factor (1 unless ``is_on``), and the number of micro-batches since it has changed."""

    def __init__(self, is_on: bool) -> None:
        self._variable: Any = None
        if is_on:
            name = tf.compat.v1.get_default_graph().unique_name("loss_scale")
            with _on_cpu():
                self._variable = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name=name)

    def read(self) -> Any:
        if self._variable is None:
            return tf.constant([1.0, 0.0])
        # Without an initializer, which a session would have to know.
        with _on_cpu():
            return tf.cond(
                raw.VarIsInitializedOp(resource=self._variable),
                lambda: raw.ReadVariableOp(resource=self._variable, dtype=tf.float32),
                lambda: tf.constant([_FIRST, 0.0]),
            )

    def is_usable(self, scale: Any, gradients: list[Any]) -> Any:
        """Return whether the gradients of a micro-batch are finite, or are infinite without a factor, too."""
        if self._variable is None:
            return True
        numbers = [each for each in gradients if each.dtype.is_floating]
        finite = [tf.reduce_all(tf.math.is_finite(each)) for each in numbers]
        return tf.logical_or(tf.reduce_all(finite), scale[0] <= 1.0)

    def after_micro_batch(self, scale: Any, usable: Any) -> Any:
        """Return the factor and the number of micro-batches after another one."""
        if self._variable is None:
            return scale
        with _on_cpu():
            return tf.where(usable, tf.add(scale, [0.0, 1.0]), tf.multiply(scale, [0.5, 0.0]))

    def keep(self, scale: Any, results: list[Any]) -> list[Any]:
        """Return the same results, with which the factor and the number are kept for the next step."""
        if self._variable is None:
            return [tf.identity(each) for each in results]
        with _on_cpu():
            doubled = tf.stack([tf.minimum(scale[0] * 2.0, _LARGEST), 0.0])
            next_scale = tf.where(scale[1] >= _PATIENCE, doubled, scale)
            written = raw.AssignVariableOp(resource=self._variable, value=next_scale)
        with tf.control_dependencies([written]):
            return [tf.identity(each) for each in results]


def unscale(gradient: Any, factor: Any) -> Any:
    with tf.device(gradient.device):
        return tf.math.scalar_mul(tf.cast(1.0 / factor, gradient.dtype), gradient)
