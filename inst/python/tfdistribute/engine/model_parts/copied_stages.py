"""Copies of what a pipeline's stage made of its first micro-batch, for the others.

Variables, tables and iterators are shared with the original. So layers are made once, their names and initial values
do not depend on the number of micro-batches, and a function of R is called once.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

# Operations that call functions: TensorFlow rewrites those when it makes gradients, and copies would share them.
_CALLS = {
    "Case",
    "If",
    "PartitionedCall",
    "StatefulPartitionedCall",
    "StatelessCase",
    "StatelessIf",
    "StatelessWhile",
    "While",
}
# Loops and conditions of TensorFlow 1.
_CALLS |= {"Enter", "RefEnter", "Switch", "RefSwitch"}

# Between the seeds of the micro-batches; the seeds of a graph are counted one by one.
_SEED_STRIDE = 1_000_003


class StageCopies:
    """The operations that lead from a stage's inputs to its outputs.

    Args:
        inputs: Structure of the tensors that the stage was called with, made for it alone.
        outputs: What it returned.

    Attributes:
        possible: Whether the operations can be copied.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self._inputs = tf.nest.flatten(inputs)
        self._outputs = outputs
        graph = self._inputs[0].graph
        operations = self._operations()
        self.possible = not any(map(_is_unique, operations))
        self._outside: dict[str, Any] = {}
        self._definition = tf.compat.v1.GraphDef()
        self._definition.versions.CopyFrom(graph.graph_def_versions)
        inside = {operation.name for operation in operations}
        for operation in operations:
            self._add(operation, inside)

    def copy(self, part: Any, number: int) -> Any:
        """Make the operations again, for another micro-batch; return its outputs."""
        given = dict(
            zip((tensor.name for tensor in self._inputs), tf.nest.flatten(part), strict=True)
        )
        for node in self._definition.node:
            # A kernel draws from a generator of its own, which starts from its seeds: another mask for each part.
            if "seed2" in node.attr and (node.attr["seed"].i or node.attr["seed2"].i):
                node.attr["seed2"].i += _SEED_STRIDE
        wanted = [tensor.name for tensor in tf.nest.flatten(self._outputs)]
        made = {node.name for node in self._definition.node}
        names = [name for name in wanted if name.rpartition(":")[0] in made]
        copies = iter(
            tf.import_graph_def(
                self._definition,
                input_map={name: given.get(name, each) for name, each in self._outside.items()},
                return_elements=names,
                name=f"micro_batch_{number}",
            )
        )
        # A stage may return what it was given, or something that does not depend on it.
        known = {tensor.name: tensor for tensor in tf.nest.flatten(self._outputs)}
        results = [
            next(copies) if name in names else given.get(name, known[name]) for name in wanted
        ]
        return tf.nest.pack_sequence_as(self._outputs, results)

    def _operations(self) -> list[Any]:
        begin = max(tensor.op._id for tensor in self._inputs)
        found: dict[str, Any] = {}
        waiting = [tensor.op for tensor in tf.nest.flatten(self._outputs)]
        while waiting:
            operation = waiting.pop()
            if operation.name in found or operation._id <= begin or _names_resource(operation):
                continue
            found[operation.name] = operation
            waiting += [tensor.op for tensor in operation.inputs]
            waiting += operation.control_inputs
        return sorted(found.values(), key=lambda each: each._id)

    def _add(self, operation: Any, inside: set[str]) -> None:
        node = self._definition.node.add()
        node.CopyFrom(operation.node_def)
        del node.input[:]
        for tensor in operation.inputs:
            node.input.append(tensor.name)
            if tensor.op.name not in inside:
                self._outside[tensor.name] = tensor
        node.input.extend(
            f"^{each.name}" for each in operation.control_inputs if each.name in inside
        )
        # Placed by its device, not beside the original of another.
        node.attr.pop("_class", None)


def _names_resource(operation: Any) -> bool:
    return not operation.inputs and any(output.dtype == tf.resource for output in operation.outputs)


def _is_unique(operation: Any) -> bool:
    if operation.type in _CALLS:
        return True
    try:
        operation.get_attr("_gradient_op_type")
    except ValueError:
        return False
    # Its gradient, written by hand, refers to tensors of the original.
    return True
