"""Graphs of model functions: repairs for users' functions, and training operations."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfdistribute.engine import keras2, layer_state, model_parts, placement
from tfdistribute.engine.graph import effects, walk
from tfdistribute.engine.repairs import gradient_scale, replicated_variables
from tfdistribute.engine.step import place_gradients
from tfdistribute.errors import ModelError

v1 = tf.compat.v1


@contextlib.contextmanager
def repair_model_fn(config: Any, loss_is_mean: bool) -> Iterator[None]:
    """Adapt the graph of a model function written for one device to several replicas.

    Keras optimizers average over replicas, layers are initialized by the run's seed, and sessions get the CPU devices
    that the graph names, or RunConfigError is raised. ``loss_is_mean`` is false if the loss is a replica's share of a
    sum over all examples, or was divided by the number of replicas already.
    """
    graph = v1.get_default_graph()
    gradient_scale.average_gradients(graph)
    place_gradients.install()
    if not loss_is_mean:
        # Without this, optimizers of TensorFlow 1 divide the loss by the number of replicas.
        tf.distribute.get_strategy()._scale_loss_for_estimator = False
    with layer_seeds(config.tf_random_seed), model_parts.model_scope():
        yield
    layer_state.refuse_keras_3()
    placement.provide_named_cpus(graph, config)


@contextlib.contextmanager
def layer_seeds(seed: int | None) -> Iterator[None]:
    """Give layers their own seed generator inside the block, so that the user's generator does not change.

    Layers of Keras and tf.compat.v1.layers ignore the graph's seed, and Keras has a generator per thread.
    """
    if seed is None:
        yield
        return
    store = keras2.backend._SEED_GENERATOR
    before = getattr(store, "generator", None)
    store.generator = random.Random(seed)  # noqa: S311 - as Keras itself does
    try:
        yield
    finally:
        store.generator = before


def minimize(optimizer: Any, loss: Any) -> Any:
    """Make the training operation: the updates of layers, the gradients of all variables, and the step count.

    ``optimizer`` is a new TensorFlow 1 optimizer or a new legacy Keras one.
    """
    step = v1.train.get_or_create_global_step()
    trained = replicated_variables.trainable()
    with tf.control_dependencies(layer_state.updates()):
        if isinstance(optimizer, v1.train.Optimizer):
            return optimizer.minimize(loss, global_step=step, var_list=trained)
        optimizer.iterations = step
        return optimizer.get_updates(loss, trained)[0]


def count_steps(train_op: Any) -> Any:
    """Make a training operation count the global step, if it does not: otherwise training would not end."""
    leaves = [getattr(leaf, "op", leaf) for leaf in tf.nest.flatten(train_op)]
    wrong = [leaf for leaf in leaves if not isinstance(leaf, tf.Operation)]
    if wrong or not leaves:
        raise ModelError(
            f"`train_op` is {(wrong or [train_op])[0]!r}, not an operation of the graph.",
            "Give what optimizer.minimize() or optimizer.apply_gradients() returned, or the optimizer itself.",
        )
    leaves += [getattr(update, "op", update) for update in layer_state.updates()]
    train_op = leaves[0] if len(leaves) == 1 else tf.group(*leaves)
    step = v1.train.get_or_create_global_step()
    if _writes(train_op, step):
        return train_op
    with tf.control_dependencies([train_op]):
        return tf.group(train_op, step.assign_add(1, read_value=False))


def _writes(operation: Any, variable: Any) -> bool:
    handles = _names_of_handles(operation.graph, variable)
    return any(
        not effects.reads_variable(each) and any(read.op.name in handles for read in each.inputs)
        for each in walk.ancestors([operation], until=lambda each: each.name in handles)
    )


def _names_of_handles(graph: Any, variable: Any) -> set[str]:
    names = {each.handle.op.name for each in replicated_variables.components(variable)}
    # Inside a loop, its body is a graph of its own; a TPU's replicas share one operation.
    captured = getattr(graph, "captures", ())
    names |= {inside.op.name for outside, inside in captured if outside.op.name in names}
    shared = [each for each in graph.get_operations() if each.type == "TPUReplicatedInput"]
    names |= {each.name for each in shared if any(value.op.name in names for value in each.inputs)}
    return names
