"""Random numbers that do not depend on how many steps one ``session.run`` takes.

An operation with a seed counts the numbers that it has drawn where nobody else can see it. Its copy inside a loop would
begin with the first number again. In its place stands the operation of TensorFlow that keeps the same count in a
variable, which a copy shares: the numbers are the same to the bit.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tfdistribute.engine.many_steps.loop import NotRepeatableError

raw = tf.raw_ops

_PHILOX = 1

# Operation that counts by itself -> the one that counts in a variable.
_WITH_VARIABLE = {
    "RandomUniform": raw.StatefulUniform,
    "RandomStandardNormal": raw.StatefulStandardNormalV2,
    "TruncatedNormal": raw.StatefulTruncatedNormal,
}


def check_shareable(operations: Iterable[Any], graph: Any) -> None:
    """See that random operations can keep their counts in variables.

    Args:
        operations: Operations of the graph, and what they call.
        graph: The graph, which knows the functions.

    Raises:
        NotRepeatableError: one cannot.
    """
    waiting: list[str] = []
    for operation in operations:
        if operation.type not in _WITH_VARIABLE and _counts(operation):
            raise _own_way(f"{operation.type} {operation.name!r}")
        if _kind(operation.type)[1]:
            waiting += _functions(operation.node_def, graph)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in graph._functions[name].cached_definition.node_def:
            if _has_seed(node):
                raise _own_way(f"{node.op} {node.name!r} of the function {name!r}")
            waiting += _functions(node, graph)


def _own_way(operation: str) -> NotRepeatableError:
    return NotRepeatableError(f"{operation} draws random numbers in a way of its own")


def share(operations: Iterable[Any]) -> list[Any]:
    """Let random operations keep their counts in variables.

    Args:
        operations: Operations of a graph that no session uses yet.

    Returns:
        Operations that set the variables, to be run in each new session.
    """
    random = [each for each in operations if each.type in _WITH_VARIABLE and _counts(each)]
    return [_shared(operation) for operation in random]


def _shared(operation: Any) -> Any:
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
    for consumer in operation.outputs[0].consumers():
        for index, tensor in enumerate(consumer.inputs):
            if tensor.name == operation.outputs[0].name:
                consumer._update_input(index, drawn)
    return prepared


def _counts(operation: Any) -> bool:
    return _kind(operation.type)[0] and _has_seed(operation.node_def)


@functools.cache
def _kind(name: str) -> tuple[bool, bool]:
    """Say of a type of operations whether it may count random numbers, and whether it may call functions."""
    definition = op_def_registry.get(name)
    if definition is None:
        # A function that is called by its name.
        return False, True
    attributes = {attribute.name: attribute.type for attribute in definition.attr}
    draws = definition.is_stateful and {"seed", "seed2"} <= attributes.keys()
    return draws, any("func" in kind for kind in attributes.values())


def _has_seed(node: Any) -> bool:
    if node.op.startswith("Stateless") or "seed" not in node.attr or "seed2" not in node.attr:
        return False
    # Without a seed the numbers are others in each session anyway.
    return bool(node.attr["seed"].i or node.attr["seed2"].i)


def _functions(node: Any, graph: Any) -> set[str]:
    names = {node.op}
    for value in node.attr.values():
        names.add(value.func.name)
        names |= {function.name for function in value.list.func}
    return {name for name in names if name in graph._functions}
