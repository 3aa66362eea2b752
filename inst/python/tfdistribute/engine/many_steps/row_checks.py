"""Checks of the rows, such as that labels are classes, made once for all rows and not in every step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorflow.python.framework import op_def_registry

from tfdistribute.engine.many_steps import step_graph
from tfdistribute.engine.many_steps.step_graph import Given

# Those whose other inputs are not data.
_OF_FIRST = frozenset({"All", "StridedSlice", "Reshape", "ExpandDims", "Squeeze"})
# Operations that compute each row of the result from the same row of their inputs, if both have as many rows.
_BY_ROW = frozenset(
    {
        *("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "IsNan", "IsFinite"),
        *("LogicalAnd", "LogicalOr", "LogicalNot", "Abs", "Sub", "Floor", "Round", "FloorMod"),
        *("Identity", "Cast", "Unpack", "Const"),
        *_OF_FIRST,
    }
)

# Rows that are checked at once, in memory of their own.
_MOST_ROWS = 2**24


def only_checks(operation: Any) -> bool:
    """Return whether an operation does nothing but end the step if its first input is false."""
    if operation.type == "Assert":
        return True
    if operation.type not in ("If", "StatelessIf"):
        return False
    read = [each for output in operation.outputs for each in output.consumers()]
    if any(each.type != "Identity" or each.outputs[0].consumers() for each in read):
        return False
    functions = operation.graph._functions
    branches = [operation.get_attr(name).name for name in ("then_branch", "else_branch")]
    if not all(name in functions for name in branches):
        return False
    passing, failing = (_with_state(functions[name].cached_definition) for name in branches)
    return not passing and failing == {"Assert"}


def passing(operations: Iterable[Any], given: Given, matrices: Sequence[Any]) -> frozenset[str]:
    """Return the names of checks that pass for all rows.

    Args:
        operations: The operations of a step.
        given: The tensors of a batch that the step is given: those of each replica in turn.
        matrices: All rows, from which they are gathered.
    """
    sources = {each: _sources(each.inputs[0], given) for each in operations if only_checks(each)}
    sources = {check: found for check, found in sources.items() if found}
    if not sources or len(matrices[0]) > _MOST_ROWS:
        return frozenset()
    computing = {name: each for found in sources.values() for name, each in found.items()}
    rows = {name: matrices[index % len(matrices)] for index, name in enumerate(given)}
    graph = step_graph.imported_alone(computing.values(), rows)
    conditions = {check.name: check.inputs[0].name for check in sources}
    by_row = {
        each
        for each in conditions.values()
        if _is_by_row(graph.get_tensor_by_name(each), len(matrices[0]))
    }
    passed = step_graph.compute(graph, by_row, rows)
    return frozenset(check for check, each in conditions.items() if passed.get(each))


def _sources(condition: Any, given: Given) -> dict[str, Any]:
    """Return the operations that compute a condition from rows, by name; none if it depends on more than rows."""
    found, waiting = dict[str, Any](), [condition]
    while waiting:
        tensor = waiting.pop()
        if tensor.name in given or tensor.op.name in found:
            continue
        if tensor.op.type not in _BY_ROW:
            return {}
        found[tensor.op.name] = tensor.op
        waiting += tensor.op.inputs
    return found


def _is_by_row(condition: Any, rows: int) -> bool:
    """Return whether a condition holds for a batch if it holds for all rows."""
    if condition.op.type in ("Identity", "LogicalAnd"):
        return all(_is_by_row(each, rows) for each in condition.op.inputs)
    if condition.op.type != "All" or condition.shape.rank != 0:
        return False
    waiting, seen = [condition.op.inputs[0]], set[str]()
    while waiting:
        tensor = waiting.pop()
        if tensor.name in seen or tensor.op.type == "Const":
            continue
        seen.add(tensor.name)
        if not tensor.shape.rank or tensor.shape[0] != rows:
            return False
        waiting += _data(tensor.op)
    return True


def _data(operation: Any) -> Sequence[Any]:
    """Return the inputs of an operation whose rows it reads; others say which columns, or how to reshape."""
    return operation.inputs[:1] if operation.type in _OF_FIRST else operation.inputs


def _with_state(function: Any) -> set[str]:
    """Return the types of operations of a function that are more than computations."""
    types = {node.op for node in function.node_def}
    known = {name: op_def_registry.get(name) for name in types}
    return {name for name, each in known.items() if each is None or each.is_stateful}
