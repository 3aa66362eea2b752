"""Operations of a graph that are made again, for other inputs.

Variables, tables and iterators are shared with the originals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.tpu.compiled_step import PROGRAM_MARKS


class CopiedOperations:
    """Operations that can be copied.

    Args:
        graph: Their graph.
        operations: In the order in which they were made.

    Attributes:
        outside: The tensors that they take from other operations, by name.
        before: Other operations that must run before one of them.
        definition: The nodes.
    """

    def __init__(self, graph: Any, operations: Sequence[Any]) -> None:
        self.outside: dict[str, Any] = {}
        self.before: dict[str, Any] = {}
        self.definition = tf.compat.v1.GraphDef()
        self.definition.versions.CopyFrom(graph.graph_def_versions)
        inside = {operation.name for operation in operations}
        for operation in operations:
            self._add(operation, inside)

    def make(self, given: Mapping[str, Any], wanted: Sequence[Any], name: str) -> list[Any]:
        """Copy the operations into the current graph.

        Args:
            given: Replacements of tensors of ``outside``, by name; others are used as they are.
            wanted: Tensors of the original operations or of others, or original operations.
            name: Name scope of the copies.

        Returns:
            For each wanted tensor its copy, its replacement, or itself.
        """
        made = {node.name for node in self.definition.node}
        names = [each.name for each in wanted if getattr(each, "op", each).name in made]
        copies = tf.import_graph_def(
            self.definition,
            input_map={key: given.get(key, each) for key, each in self.outside.items()},
            return_elements=names,
            name=name,
        )
        found = dict(zip(names, copies, strict=True))
        return [found.get(each.name, given.get(each.name, each)) for each in wanted]

    def _add(self, operation: Any, inside: set[str]) -> None:
        node = self.definition.node.add()
        node.CopyFrom(operation.node_def)
        del node.input[:]
        for tensor in operation.inputs:
            node.input.append(tensor.name)
            if tensor.op.name not in inside:
                self.outside[tensor.name] = tensor
        for each in operation.control_inputs:
            if each.name in inside:
                node.input.append(f"^{each.name}")
            else:
                self.before[each.name] = each
        # Placed by its device, not beside the original of another.
        node.attr.pop("_class", None)
        # In a program for a TPU, the copy is marked as part of it when it is made.
        for mark in PROGRAM_MARKS:
            node.attr.pop(mark, None)
