"""Repair of ``all_reduce`` inside a model, as in normalisation over the global batch, if one device computes the sum.

TensorFlow searches for the variables that the sum depends on, and in one replica it finds those of the others. It fails
because these are undeclared variables of a custom gradient, or cannot be found by name.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches


def install() -> None:
    """Allow ``all_reduce`` of values that depend on variables.

    Gradients are stopped at the result. They are not needed there: the gradient of a sum over replicas is the sum of
    the replicas' gradients, which TensorFlow declares separately.
    """
    patches.install("all_reduce", _without_gradient)


def _without_gradient(
    all_reduce: Any, context: Any, reduce_op: Any, value: Any, options: Any = None
) -> Any:
    sparse = any(isinstance(leaf, tf.IndexedSlices) for leaf in tf.nest.flatten(value))
    merges = context._strategy.extended._use_merge_call()
    if merges and not sparse and not tf.executing_eagerly():
        context = _StoppedGradients(context)
    return all_reduce(context, reduce_op, value, options)


class _StoppedGradients:
    """A replica's context that stops the gradients of merged values."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._strategy = context._strategy
        self.all_reduce = context.all_reduce

    def merge_call(self, function: Any, args: Any) -> Any:
        merged = self._context.merge_call(function, args=args)
        return tf.nest.map_structure(tf.stop_gradient, merged)
