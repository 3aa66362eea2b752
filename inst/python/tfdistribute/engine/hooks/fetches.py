"""Tensors, variables and operations of a graph, by the names that users give."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
import tensorflow as tf

from tfdistribute.errors import ArgumentError

# Names that every training has, whatever the model calls its values.
LOSS = "loss"
GLOBAL_STEP = "global_step"


def find(wanted: Any, graph: Any, argument: str) -> Any:
    """Find a tensor, variable or operation to fetch by its name, or several; ArgumentError about ``argument``.

    "loss" is the loss over all replicas, and "global_step" the step. A tensor's name may lack ":0".
    """
    if isinstance(wanted, tf.distribute.DistributedValues):
        # TensorFlow's sessions cannot fetch a value per replica, so this is replica 0's.
        return wanted.values[0]
    if isinstance(wanted, list):
        return [find(each, graph, argument) for each in cast("list[Any]", wanted)]
    if not isinstance(wanted, str):
        return wanted
    for fetch in _by_word(wanted, graph):
        return fetch
    for variable in graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES):
        # The tensor named after a variable is a handle; the variable itself is its value.
        if wanted in (variable.name, variable.op.name):
            return variable
    for name in (wanted, f"{wanted}:0"):
        try:
            return graph.as_graph_element(name)
        except (KeyError, ValueError):
            continue
    raise _unknown(wanted, graph, argument)


def find_all(wanted: Mapping[str, Any], graph: Any, argument: str) -> dict[str, Any]:
    return {name: find(value, graph, argument) for name, value in wanted.items()}


def plain(value: Any) -> Any:
    """Convert fetched values for R: bytes become strings, also inside arrays, mappings and lists."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return [plain(item) for item in value.tolist()]
    return value


def _by_word(word: str, graph: Any) -> Iterable[Any]:
    if word == LOSS:
        # The Estimator adds the loss that it reduced over all replicas last.
        return graph.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1:]
    if word == GLOBAL_STEP:
        return graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_STEP)[:1]
    return ()


def _unknown(name: str, graph: Any, argument: str) -> ArgumentError:
    names = [LOSS, GLOBAL_STEP, *(operation.name for operation in graph.get_operations())]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return ArgumentError(
        f'`{argument}` names "{name}", which this graph does not have.',
        f"Use the name of a tensor or a variable{', such as ' + ', '.join(near) if near else ''}.",
        value=name,
    )
