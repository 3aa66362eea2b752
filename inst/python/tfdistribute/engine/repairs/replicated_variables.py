"""Variables of strategies over several devices, which TensorFlow puts into its collections twice."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import ps_values
from tensorflow.python.distribute import values as distributed


class KeepOneOfEachVariable(tf.estimator.SessionRunHook):
    """Drop the variables that a strategy has wrapped from the graph's collections.

    TensorFlow 2 puts a variable into its collections even where the strategy that wraps it asks for none, so
    that the variable and its wrapper are both there. Under central storage they have the same name, and the
    saver refuses them ("At least two variables have the same name"). Under mirrored training the slots of
    optimizers are saved once more for each replica, and a checkpoint without these copies, from one device,
    cannot be restored. Only the wrapper is kept. Graphs without such pairs stay as they are.

    Source:
        ``_create_var_creator`` in tensorflow/python/distribute/parameter_server_strategy.py.
    """

    def begin(self) -> None:
        """Clean the collections: after the graph is made, before a saver is."""
        graph = tf.compat.v1.get_default_graph()
        for key in graph.get_all_collection_keys():
            collection = graph.get_collection_ref(key)
            for item in collection:
                _hand_on_beginning(item)
            _drop_wrapped(collection)


def trainable() -> list[Any]:
    """List the graph's trainable variables, each once: without those that a strategy has wrapped.

    Returns:
        Variables in the order in which they were made.
    """
    listed = list(tf.compat.v1.trainable_variables())
    _drop_wrapped(listed)
    return listed


def components(variable: Any) -> tuple[Any, ...]:
    """List the variables that stand for one: itself, or those that a strategy has wrapped.

    Args:
        variable: A variable.

    Returns:
        Variables that have a handle of their own.
    """
    return _wrapped_by(variable) or (variable,)


def _drop_wrapped(collection: list[Any]) -> None:
    wrapped = {id(variable) for item in collection for variable in _wrapped_by(item)}
    if wrapped:
        collection[:] = [item for item in collection if id(item) not in wrapped]


def _wrapped_by(item: Any) -> tuple[Any, ...]:
    if isinstance(item, ps_values.AggregatingVariable):
        return (item.get(),)
    return item.values if isinstance(item, distributed.DistributedVariable) else ()


def _hand_on_beginning(item: Any) -> None:
    """Let a wrapped variable begin with what was set on its wrapper.

    A warm start sets the value on the wrapper, whose initializer is the wrapped variable's, so that training would
    begin with new values, without a word.

    Source:
        ``_set_checkpoint_initializer`` in tensorflow/python/training/checkpoint_utils.py.
    """
    if isinstance(item, ps_values.AggregatingVariable) and "_initializer_op" in vars(item):
        wrapped = item.get()
        wrapped._initializer_op = item._initializer_op
        wrapped._initial_value = item._initial_value
