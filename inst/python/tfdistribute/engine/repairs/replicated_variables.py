"""Variables of strategies over several devices, which TensorFlow adds to its collections twice."""

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import ps_values
from tensorflow.python.distribute import values as distributed


class KeepOneOfEachVariable(tf.estimator.SessionRunHook):
    """Drop the variables that a strategy has wrapped from the graph's collections, and keep the wrappers.

    TensorFlow 2 adds both. Under central storage they have the same name, and the saver fails ("At least two
    variables have the same name"). Mirrored slots of optimizers are saved for each replica, and checkpoints from one
    device, without these copies, cannot be restored.

    Source:
        ``_create_var_creator`` in tensorflow/python/distribute/parameter_server_strategy.py.
    """

    def begin(self) -> None:
        graph = tf.compat.v1.get_default_graph()
        for key in graph.get_all_collection_keys():
            collection = graph.get_collection_ref(key)
            for item in collection:
                _pass_on_initial_value(item)
            _drop_wrapped(collection)


def trainable() -> list[Any]:
    listed = list(tf.compat.v1.trainable_variables())
    _drop_wrapped(listed)
    return listed


def components(variable: Any) -> tuple[Any, ...]:
    """List the variables with a handle: the variables that a strategy has wrapped in this one, or itself."""
    return _wrapped_by(variable) or (variable,)


def _drop_wrapped(collection: list[Any]) -> None:
    wrapped = {id(variable) for item in collection for variable in _wrapped_by(item)}
    if wrapped:
        collection[:] = [item for item in collection if id(item) not in wrapped]


def _wrapped_by(item: Any) -> tuple[Any, ...]:
    if isinstance(item, ps_values.AggregatingVariable):
        return (item.get(),)
    return item.values if isinstance(item, distributed.DistributedVariable) else ()


def _pass_on_initial_value(item: Any) -> None:
    """Copy a warm start's initial value from the wrapper to the variable, whose initializer runs.

    Source:
        ``_set_checkpoint_initializer`` in tensorflow/python/training/checkpoint_utils.py.
    """
    if isinstance(item, ps_values.AggregatingVariable) and "_initializer_op" in vars(item):
        wrapped = item.get()
        wrapped._initializer_op = item._initializer_op
        wrapped._initial_value = item._initial_value
