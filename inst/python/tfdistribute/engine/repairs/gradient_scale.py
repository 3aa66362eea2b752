"""Repair of step sizes: Keras optimizers in a model function take the mean over replicas, as TensorFlow 1's do.

An optimizer of TensorFlow 1 divides the loss by the number of replicas when an Estimator trains. A Keras optimizer
adds the replicas' gradients up, because it expects a loss that was divided already: in a model function written for one
device it takes n times too large a step on n replicas, without a word.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from keras.src.optimizers import utils as keras_optimizers

from tfdistribute.errors import ModelError

_MARK = "_tfdistribute_averages_gradients"


def average_gradients(graph: Any) -> None:
    """Let Keras optimizers follow the mean over replicas in a graph.

    A loss whose last part TensorFlow knows to be a sum over examples (``Reduction.SUM``) stays a sum. Gradients that
    the model function sums up itself, or has summed up in a way of its own (``gradient_aggregator``), stay as they are.

    Args:
        graph: The graph that a model function is called in.
    """
    setattr(graph, _MARK, True)
    install()


@functools.cache
def install() -> None:
    """Put the repair into the optimizers of Keras. It does nothing outside marked graphs.

    Source:
        ``Optimizer._scale_loss`` in tensorflow/python/training/optimizer.py, whose rule this follows.
    """
    legacy, new = tf.keras.optimizers.legacy.Optimizer, tf.keras.optimizers.Optimizer
    aggregate, apply_gradients = legacy._aggregate_gradients, new.apply_gradients

    @functools.wraps(aggregate)
    def averaging(self: Any, grads_and_vars: Any) -> Any:
        if (
            _is_marked()
            and self.gradient_aggregator is keras_optimizers.all_reduce_sum_gradients
            and tf.compat.v1.distribute.get_loss_reduction() == tf.distribute.ReduceOp.MEAN
        ):
            share = 1.0 / tf.distribute.get_strategy().num_replicas_in_sync
            if share < 1:
                grads_and_vars = [(_scaled(gradient, share), v) for gradient, v in grads_and_vars]
        return aggregate(self, grads_and_vars)

    @functools.wraps(apply_gradients)
    def refusing(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_marked():
            name = type(self).__name__
            raise ModelError(
                f"model_fn uses tf.keras.optimizers.{name}, whose updates never run in a graph: nothing is learnt.",
                f"Use tf.keras.optimizers.legacy.{name}, or let model_fn return the optimizer beside the loss.",
                argument="optimizer",
                value=name,
            )
        return apply_gradients(self, *args, **kwargs)

    legacy._aggregate_gradients = averaging
    new.apply_gradients = refusing


def _is_marked() -> bool:
    return getattr(tf.compat.v1.get_default_graph(), _MARK, False)


def _scaled(gradient: Any, share: float) -> Any:
    return None if gradient is None else tf.math.scalar_mul(share, gradient)
