"""The operations of a step in a graph of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1

# Data type and shape of the tensors that a step is given, by name.
Given = Mapping[str, tuple[Any, Sequence[int]]]


def imported(definition: Any, given: Given) -> Any:
    """Return a graph of a step's ``GraphDef``, with placeholders for what the step is given, on any device."""
    placed = v1.GraphDef()
    placed.CopyFrom(definition)
    for node in placed.node:
        node.device = ""
        node.attr.pop("_class", None)
    with tf.Graph().as_default() as graph:
        inputs = {
            name: v1.placeholder(dtype, shape, _placeholder(index))
            for index, (name, (dtype, shape)) in enumerate(given.items())
        }
        tf.import_graph_def(placed, input_map=only_read(inputs, placed), name="")
    return graph


def only_read(tensors: Mapping[str, Any], definition: Any) -> dict[str, Any]:
    """Return those of the tensors, by name, that a ``GraphDef`` reads: TensorFlow refuses to map others."""
    inputs = {name for node in definition.node for name in node.input}
    return {name: tensor for name, tensor in tensors.items() if is_read(name, inputs)}


def is_read(name: str, inputs: Collection[str]) -> bool:
    """Return whether a tensor is among the inputs of a ``GraphDef``."""
    # A GraphDef leaves out the index of an operation's first tensor.
    return name in inputs or name.removesuffix(":0") in inputs


def names_of(given: Iterable[str]) -> dict[str, str]:
    """Return the names of what a step is given, by the names of the placeholders."""
    return {f"{_placeholder(index)}:0": name for index, name in enumerate(given)}


def _placeholder(index: int) -> str:
    return f"given_{index}"
