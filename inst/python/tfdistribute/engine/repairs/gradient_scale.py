"""Repair of step sizes: Keras optimizers in a model function average over replicas, as TensorFlow 1's do.

A Keras optimizer adds up the replicas' gradients, because it expects a divided loss. Without the repair, a model
function for one device silently takes steps that are n times too large on n replicas.
"""

from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches
from tfdistribute.engine.keras2 import optimizer_utils
from tfdistribute.errors import ModelError

_FLAG = "_tfdistribute_averages_gradients"


def average_gradients(graph: Any) -> None:
    """Average gradients over replicas in the Keras optimizers of a graph.

    Gradients of a sum over examples (``Reduction.SUM``) are added up, and those that the model function aggregates
    itself, also by ``gradient_aggregator``, do not change.
    """
    setattr(graph, _FLAG, True)
    install()


def install() -> None:
    patches.install("gradient_scale", _average, _refuse)


def _average(aggregate: Any, optimizer: Any, grads_and_vars: Any) -> Any:
    if (
        _averages()
        and optimizer.gradient_aggregator is optimizer_utils.all_reduce_sum_gradients
        and tf.compat.v1.distribute.get_loss_reduction() == tf.distribute.ReduceOp.MEAN
    ):
        share = 1.0 / tf.distribute.get_strategy().num_replicas_in_sync
        if share < 1:
            grads_and_vars = [(_scale(gradient, share), v) for gradient, v in grads_and_vars]
    return aggregate(optimizer, grads_and_vars)


def _refuse(apply_gradients: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
    if _averages():
        name = type(optimizer).__name__
        raise ModelError(
            f"model_fn uses tf.keras.optimizers.{name}, whose updates never run in a graph: nothing is learnt.",
            f"Use tf.keras.optimizers.legacy.{name}, or let model_fn return the optimizer beside the loss.",
            argument="optimizer",
            value=name,
        )
    return apply_gradients(optimizer, *args, **kwargs)


def _averages() -> bool:
    return getattr(tf.compat.v1.get_default_graph(), _FLAG, False)


def _scale(gradient: Any, share: float) -> Any:
    return None if gradient is None else tf.math.scalar_mul(share, gradient)
