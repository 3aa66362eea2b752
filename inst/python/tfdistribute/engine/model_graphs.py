"""Graphs of model functions: repairs of those of the user, and training operations."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from keras.src import backend as keras_backend
from tensorflow.python.autograph.impl import api as autograph

from tfdistribute.engine import placement
from tfdistribute.engine.repairs import all_reduce, gradient_scale, replicated_variables
from tfdistribute.errors import ModelError

v1 = tf.compat.v1


@contextlib.contextmanager
def repaired(config: Any, loss_is_mean: bool) -> Iterator[None]:
    """Repair the graph of a model function that is written for one device, for several replicas.

    Keras optimizers average over replicas, values can be reduced over replicas, layers are initialised by the run's
    seed, and sessions get the CPU devices that the graph names.

    Args:
        config: The Estimator's own ``tf.estimator.RunConfig``; its session configuration may be changed.
        loss_is_mean: Whether the loss of a replica is a mean over its examples, as on one device; false if it is a
            replica's share of a sum over all examples, or was divided by the number of replicas already.

    Yields:
        Nothing; the model function is called inside.

    Raises:
        RunConfigError: devices are named that the cluster does not have.
    """
    graph = v1.get_default_graph()
    gradient_scale.average_gradients(graph)
    all_reduce.install()
    if not loss_is_mean:
        # Without this, optimizers of TensorFlow 1 divide the loss by the number of replicas.
        tf.distribute.get_strategy()._scale_loss_for_estimator = False
    with layer_seeds(config.tf_random_seed):
        yield
    placement.provide_named_cpus(graph, config)


@contextlib.contextmanager
def layer_seeds(seed: int | None) -> Iterator[None]:
    """Give layers their own generator of seeds inside the block, instead of Python's, which is the user's.

    Layers of Keras and tf.compat.v1.layers ignore the graph's seed. Keras has a generator per thread, so every replica
    begins with the same seed, on its own thread or not.
    """
    if seed is None:
        yield
        return
    store = keras_backend._SEED_GENERATOR
    before = getattr(store, "generator", None)
    store.generator = random.Random(seed)  # noqa: S311 - as Keras itself does
    try:
        yield
    finally:
        store.generator = before


def leave_as_written(function: Any) -> Any:
    """Keep AutoGraph from converting a function, as TensorFlow does under some strategies only."""
    return autograph.autograph_artifact(function)


def minimize(optimizer: Any, loss: Any) -> Any:
    """Make the training operation: the collected updates, then the gradients of all variables.

    Args:
        optimizer: A new optimizer of TensorFlow 1, or a legacy one of Keras.
        loss: The loss, a scalar tensor.

    Returns:
        An operation that also counts the step.
    """
    step = v1.train.get_or_create_global_step()
    trained = replicated_variables.trainable()
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        if isinstance(optimizer, v1.train.Optimizer):
            return optimizer.minimize(loss, global_step=step, var_list=trained)
        optimizer.iterations = step
        return optimizer.get_updates(loss, trained)[0]


def count_steps(train_op: Any) -> Any:
    """Make a training operation count the global step, if it does not: otherwise training would not end.

    Args:
        train_op: The training operation of a model function: an operation, a tensor or several of them.

    Returns:
        An operation that trains and counts, which may be the same.

    Raises:
        ModelError: train_op is something else.
    """
    leaves = [getattr(leaf, "op", leaf) for leaf in tf.nest.flatten(train_op)]
    wrong = [leaf for leaf in leaves if not isinstance(leaf, tf.Operation)]
    if wrong or not leaves:
        raise ModelError(
            f"`train_op` is {(wrong or [train_op])[0]!r}, not an operation of the graph.",
            "Give what optimizer.minimize() or optimizer.apply_gradients() returned, or the optimizer itself.",
            argument="train_op",
        )
    train_op = leaves[0] if len(leaves) == 1 else tf.group(*leaves)
    step = v1.train.get_or_create_global_step()
    if _writes(train_op, step):
        return train_op
    with tf.control_dependencies([train_op]):
        return tf.group(train_op, step.assign_add(1, read_value=False))


def _writes(operation: Any, variable: Any) -> bool:
    """Return whether an operation, or one that must run before it, changes a variable."""
    handles = {each.handle.op.name for each in replicated_variables.components(variable)}
    seen: set[str] = set()
    waiting = [operation]
    while waiting:
        current = waiting.pop()
        if current.name in seen:
            continue
        seen.add(current.name)
        before = [tensor.op for tensor in current.inputs]
        if current.type != "ReadVariableOp" and any(each.name in handles for each in before):
            return True
        waiting += [*before, *current.control_inputs]
    return False
