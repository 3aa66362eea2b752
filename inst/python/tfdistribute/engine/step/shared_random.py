"""The pass `shared_random`: random numbers that do not depend on the number of steps of one ``session.run``.

A copy of a random operation inside a loop would begin its hidden counter again. It is replaced by TensorFlow's
operation that keeps the counter in a variable, which a copy shares.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.graph import edit, effects, functions
from tfdistribute.engine.step import passes
from tfdistribute.engine.step.program import NotRepeatableError, StepProgram

raw = tf.raw_ops

_PHILOX = 1

# Operations with a hidden counter, and those with a counter in a variable.
_WITH_VARIABLE = {
    "RandomUniform": raw.StatefulUniform,
    "RandomStandardNormal": raw.StatefulStandardNormalV2,
    "TruncatedNormal": raw.StatefulTruncatedNormal,
}


def run(program: StepProgram) -> StepProgram:
    """Keep the counters of a step's random numbers in variables; NotRepeatableError if that cannot be done."""
    operations, is_on = program.operations(), passes.is_on("shared_random")
    callers: list[Any] = []
    for operation in operations:
        if _counts(operation) and not (is_on and operation.type in _WITH_VARIABLE):
            raise _not_shareable(f"{operation.type} {operation.name!r}")
        if effects.may_call_functions(operation.type):
            callers.append(operation.node_def)
    for name, node in functions.called_nodes(program.graph, callers):
        if _has_seed(node):
            raise _not_shareable(f"{node.op} {node.name!r} of the function {name!r}")
    return replace(program, random_state=tuple(share(operations))) if is_on else program


def _not_shareable(operation: str) -> NotRepeatableError:
    return NotRepeatableError(f"{operation} draws random numbers that a loop cannot continue")


def share(operations: Iterable[Any]) -> list[Any]:
    """Replace random operations with those that keep counters in variables; return the counters' initializers."""
    random = [each for each in operations if each.type in _WITH_VARIABLE and _counts(each)]
    return [_replace(operation) for operation in random]


def _replace(operation: Any) -> Any:
    graph = operation.graph
    name = f"{operation.name}/shared"
    with (
        graph.as_default(),
        tf.device(operation.device),
        tf.name_scope(f"{name}/"),
        tf.control_dependencies(None),
    ):
        state = raw.VarHandleOp(dtype=tf.int64, shape=[3], shared_name=name, name="state")
        # The generator's counter, low half first, and its key.
        begin = [0, operation.get_attr("seed2"), operation.get_attr("seed")]
        prepared = raw.AssignVariableOp(resource=state, value=np.array(begin, np.int64))
        with tf.control_dependencies(operation.control_inputs):
            drawn = _WITH_VARIABLE[operation.type](
                resource=state,
                algorithm=tf.constant(_PHILOX, tf.int64),
                shape=operation.inputs[0],
                dtype=operation.outputs[0].dtype,
            )
    edit.redirect(operation.outputs[0], drawn)
    return prepared


def _counts(operation: Any) -> bool:
    return effects.has_seeds(operation.type) and _has_seed(operation.node_def)


def _has_seed(node: Any) -> bool:
    if node.op.startswith("Stateless") or "seed" not in node.attr or "seed2" not in node.attr:
        return False
    # Without a seed the numbers differ between sessions anyway.
    return bool(node.attr["seed"].i or node.attr["seed2"].i)
