"""Random numbers that do not depend on the number of steps of one ``session.run``.

A random operation with a seed keeps a hidden counter of the numbers that it has drawn. Its copy inside a loop would
begin with the first number again. It is replaced by TensorFlow's operation that keeps the same counter in a variable,
which a copy shares: the numbers are the same to the bit.
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

# Operations with a hidden counter, and those with a counter in a variable.
_WITH_VARIABLE = {
    "RandomUniform": raw.StatefulUniform,
    "RandomStandardNormal": raw.StatefulStandardNormalV2,
    "TruncatedNormal": raw.StatefulTruncatedNormal,
}


def check_shareable(operations: Iterable[Any], graph: Any) -> None:
    """Raise NotRepeatableError if a random operation cannot keep its counter in a variable."""
    waiting: list[str] = []
    for operation in operations:
        if operation.type not in _WITH_VARIABLE and _counts(operation):
            raise _not_shareable(f"{operation.type} {operation.name!r}")
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
                raise _not_shareable(f"{node.op} {node.name!r} of the function {name!r}")
            waiting += _functions(node, graph)


def _not_shareable(operation: str) -> NotRepeatableError:
    return NotRepeatableError(f"{operation} draws random numbers that a loop cannot continue")


def share(operations: Iterable[Any]) -> list[Any]:
    """Replace random operations with those that keep counters in variables; return the counters' initializers."""
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
    """Return whether a type of operations may have a hidden counter, and whether it may call functions."""
    definition = op_def_registry.get(name)
    if definition is None:
        # A function, called by its name.
        return False, True
    attributes = {attribute.name: attribute.type for attribute in definition.attr}
    draws = definition.is_stateful and {"seed", "seed2"} <= attributes.keys()
    return draws, any("func" in kind for kind in attributes.values())


def _has_seed(node: Any) -> bool:
    if node.op.startswith("Stateless") or "seed" not in node.attr or "seed2" not in node.attr:
        return False
    # Without a seed the numbers differ between sessions anyway.
    return bool(node.attr["seed"].i or node.attr["seed2"].i)


def _functions(node: Any, graph: Any) -> set[str]:
    names = {node.op}
    for value in node.attr.values():
        names.add(value.func.name)
        names |= {function.name for function in value.list.func}
    return {name for name in names if name in graph._functions}
