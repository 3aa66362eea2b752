"""Copies of what a pipeline's stage made of its first micro-batch, for the others.

Variables, tables and iterators are shared with the original, so the number of micro-batches changes no names.
"""

from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import effects, walk
from tfdistribute.engine.graph.copies import Subgraph
from tfdistribute.engine.tpu.system import PROGRAM_MARKS

# Loops and conditions of TensorFlow 1.
_CONTROL = {"Enter", "RefEnter", "Switch", "RefSwitch"}

# Between the seeds of the micro-batches; the seeds of a graph are counted one by one.
_SEED_STRIDE = 1_000_003


class StageCopies:
    """The operations that lead from a stage's inputs, made for it alone, to its outputs.

    ``possible`` is false if the operations cannot be copied.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self._inputs = tf.nest.flatten(inputs)
        self._outputs = outputs
        operations = self._operations()
        self.possible = not any(map(_is_unique, operations))
        self._copied = Subgraph(operations, PROGRAM_MARKS)

    def copy(self, part: Any, number: int) -> Any:
        """Copy the operations for another micro-batch; return its outputs."""
        inputs = dict(
            zip((tensor.name for tensor in self._inputs), tf.nest.flatten(part), strict=True)
        )
        for node in self._copied.definition.node:
            # A kernel draws from a generator of its own, which starts from its seeds: another mask for each part.
            if "seed2" in node.attr and (node.attr["seed"].i or node.attr["seed2"].i):
                node.attr["seed2"].i += _SEED_STRIDE
        # A stage may return what it was given, or something that does not depend on it.
        wanted = tf.nest.flatten(self._outputs)
        results = self._copied.copy(inputs, wanted, f"micro_batch_{number}")
        return tf.nest.pack_sequence_as(self._outputs, results)

    def _operations(self) -> list[Any]:
        begin = max(tensor.op._id for tensor in self._inputs)
        return walk.in_order(
            walk.ancestors(
                tf.nest.flatten(self._outputs),
                until=lambda each: each._id <= begin or effects.names_resource(each),
            )
        )


def _is_unique(operation: Any) -> bool:
    # TensorFlow rewrites functions when it makes gradients, and copies would share them.
    if operation.type in _CONTROL or effects.may_call_functions(operation.type):
        return True
    try:
        operation.get_attr("_gradient_op_type")
    except ValueError:
        return False
    # Its gradient, written by hand, refers to tensors of the original.
    return True
