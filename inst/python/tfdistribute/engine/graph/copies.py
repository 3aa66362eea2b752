"""Operations that are made again, as ``GraphDef``, in their graph or in another one.

Variables, tables and iterators are resources with names, so a copy that uses one shares it with the original.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfdistribute.engine.graph.walk import outside_inputs

v1 = tf.compat.v1


def define(operations: Sequence[Any], without: Collection[str] = ()) -> Any:
    """Return a ``GraphDef`` of operations, without the attributes of these names.

    Control edges from other operations are left out. So is colocation, which would tie a copy to the originals.
    """
    definition = v1.GraphDef()
    if operations:
        definition.versions.CopyFrom(operations[0].graph.graph_def_versions)
    inside = {operation.name for operation in operations}
    for operation in operations:
        node = definition.node.add()
        node.CopyFrom(operation.node_def)
        _set_inputs(node, [each for each in node.input if each[:1] != "^" or each[1:] in inside])
        for name in ("_class", *without):
            node.attr.pop(name, None)
    return definition


def parse(serialized: bytes) -> Any:
    """Return the ``GraphDef`` that was serialized."""
    return v1.GraphDef.FromString(serialized)


def choose(definition: Any, inputs: Mapping[str, Iterable[str]]) -> Any:
    """Return a ``GraphDef`` of some nodes of another one; ``inputs`` has their names and their new inputs.

    The nodes are in the order of ``inputs``: TensorFlow's optimizer of graphs may round otherwise in another order.
    """
    chosen = v1.GraphDef(versions=definition.versions, library=definition.library)
    nodes = {node.name: node for node in definition.node}
    for name, read in inputs.items():
        node = chosen.node.add()
        node.CopyFrom(nodes[name])
        _set_inputs(node, read)
    return chosen


def insert(
    definition: Any, inputs: Mapping[str, Any], wanted: Sequence[str] = (), name: str = ""
) -> list[Any]:
    """Make the operations of a ``GraphDef`` in the current graph.

    Args:
        definition: The ``GraphDef``.
        inputs: Tensors to read in place of others, by the others' names. Names that no node reads are ignored;
            TensorFlow would refuse them.
        wanted: Names of the operations and tensors to return.
        name: Name scope of the new operations.
    """
    read = read_names(definition)
    mapped = {key: tensor for key, tensor in inputs.items() if key in read}
    return tf.import_graph_def(definition, input_map=mapped, return_elements=wanted, name=name)


def read_names(definition: Any) -> set[str]:
    """Return the names of the tensors that the nodes of a ``GraphDef`` read, such as "x:0"."""
    names = (name for node in definition.node for name in node.input if name[:1] != "^")
    return {name if ":" in name else f"{name}:0" for name in names}


def node_name(read: str) -> str:
    """Return the name of the node that an input in a ``GraphDef`` names: "x" of "x", "x:1" and "^x"."""
    return read.removeprefix("^").partition(":")[0]


class Subgraph:
    """Operations of a graph, in the order in which they were made, that can be copied several times.

    Attributes:
        definition: The operations as ``GraphDef``, made by ``define()``.
        before: Other operations that must run before one of them.
        outside: The tensors that they read from other operations, by name.
    """

    def __init__(self, operations: Sequence[Any], without: Collection[str] = ()) -> None:
        self._graph = operations[0].graph if operations else ops.get_default_graph()
        self.definition = define(operations, without)
        self.outside = outside_inputs(operations)
        self._inside = {operation.name for operation in operations}
        controls = (each for operation in operations for each in operation.control_inputs)
        self.before = [each for each in dict.fromkeys(controls) if each.name not in self._inside]

    def copy(self, inputs: Mapping[str, Any], wanted: Sequence[Any], name: str) -> list[Any]:
        """Copy the operations into the current graph: their own, or a function of it.

        Args:
            inputs: Tensors to read in place of others of ``outside``, by the others' names.
            wanted: Tensors or operations.
            name: Name scope of the copies.

        Returns:
            For each wanted tensor or operation its copy, or else its replacement among the inputs, or else itself.
        """
        names = [each.name for each in wanted if getattr(each, "op", each).name in self._inside]
        outside = {key: each for key, each in self.outside.items() if key not in inputs}
        here = ops.get_default_graph()
        if here is not self._graph:
            for function in self._graph._functions.values():
                here._add_function_recursive(function)
            outside = {key: here.capture(each) for key, each in outside.items()}
        copies = insert(self.definition, {**outside, **inputs}, names, name)
        by_name = {**inputs, **dict(zip(names, copies, strict=True))}
        return [by_name.get(each.name, each) for each in wanted]


def _set_inputs(node: Any, inputs: Iterable[str]) -> None:
    names = list(inputs)
    node.ClearField("input")
    node.input.extend(names)
