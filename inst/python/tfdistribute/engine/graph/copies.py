"""Operations that are made again, as ``GraphDef``, in their graph or in another one.

Variables, tables and iterators are resources with names, so a copy that uses one shares it with the original.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfdistribute.engine.graph.walk import outside_inputs

v1 = tf.compat.v1


def define(operations: Sequence[Any], without: Collection[str] = ()) -> Any:
    """Return a ``GraphDef`` of operations, without the attributes of these names.

    Control edges from other operations, and colocation with the originals, are left out.
    """
    definition = v1.GraphDef()
    if operations:
        definition.versions.CopyFrom(operations[0].graph.graph_def_versions)
    inside = {operation.name for operation in operations}
    for operation in operations:
        node = definition.node.add()
        node.CopyFrom(operation.node_def)
        read = [each for each in node.input if each[:1] != "^" or each[1:] in inside]
        node.ClearField("input")
        node.input.extend(read)
        for name in ("_class", *without):
            node.attr.pop(name, None)
    return definition


def parse(serialized: bytes) -> Any:
    return v1.GraphDef.FromString(serialized)


def insert(
    definition: Any, inputs: Mapping[str, Any], wanted: Sequence[str] = (), name: str = ""
) -> list[Any]:
    """Make the operations of a ``GraphDef`` in the current graph, and return the ``wanted`` operations and tensors.

    ``inputs`` replace tensors by their names. Names that no node reads are ignored, because TensorFlow rejects them.
    """
    read = read_names(definition)
    mapped = {key: tensor for key, tensor in inputs.items() if key in read}
    return tf.import_graph_def(definition, input_map=mapped, return_elements=wanted, name=name)


def read_names(definition: Any) -> set[str]:
    names = (name for node in definition.node for name in node.input if name[:1] != "^")
    return {name if ":" in name else f"{name}:0" for name in names}


def node_name(read: str) -> str:
    """Return the name of the node that an input in a ``GraphDef`` names: "x" of "x", "x:1" and "^x"."""
    return read.removeprefix("^").partition(":")[0]


class Subgraph:
    """Operations of a graph, in the order in which they were made, that can be copied several times.

    ``before`` are other operations that must run first, ``outside`` the tensors of other operations by name.
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

        ``inputs`` replace tensors of ``outside`` by name. For each of ``wanted``, the result has its copy, or else
        its replacement among the inputs, or else itself.
        """
        names = [each.name for each in wanted if getattr(each, "op", each).name in self._inside]
        outside = {key: each for key, each in self.outside.items() if key not in inputs}
        here = ops.get_default_graph()
        if here is not self._graph:
            for function in self._graph._functions.values():
                here._add_function_recursive(function)
            outside, inputs = (
                {key: here.capture(each) for key, each in tensors.items()}
                for tensors in (outside, inputs)
            )
        copies = insert(self.definition, {**outside, **inputs}, names, name)
        by_name = {**inputs, **dict(zip(names, copies, strict=True))}
        return [by_name.get(each.name, each) for each in wanted]
