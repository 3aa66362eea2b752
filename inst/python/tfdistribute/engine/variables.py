"""Repair of central storage over several devices, which gives each variable to the saver twice."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import ps_values


class KeepOneOfEachVariable(tf.estimator.SessionRunHook):
    """Drop the variables that central storage has wrapped from the graph's collections.

    TensorFlow 2 puts a variable into its collections even where the strategy that wraps it asks for none, so
    that the variable and its wrapper are both there, by the same name, and the saver refuses them ("At least
    two variables have the same name"). Only the wrapper is kept. Graphs without such pairs stay as they are.

    Source:
        ``_create_var_creator`` in tensorflow/python/distribute/parameter_server_strategy.py.
    """

    def begin(self) -> None:
        """Clean the collections: after the graph is made, before a saver is."""
        graph = tf.compat.v1.get_default_graph()
        for key in graph.get_all_collection_keys():
            _drop_wrapped(graph.get_collection_ref(key))


def _drop_wrapped(collection: list[Any]) -> None:
    wrappers = [item for item in collection if isinstance(item, ps_values.AggregatingVariable)]
    wrapped = {id(wrapper.get()) for wrapper in wrappers}
    if wrapped:
        collection[:] = [item for item in collection if id(item) not in wrapped]
