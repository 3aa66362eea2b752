"""Operations of a step that only check it, such as that labels are classes."""

from __future__ import annotations

from typing import Any

from tensorflow.python.framework import op_def_registry


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


def _with_state(function: Any) -> set[str]:
    """Return the types of operations of a function that are more than computations."""
    types = {node.op for node in function.node_def}
    known = {name: op_def_registry.get(name) for name in types}
    return {name for name, each in known.items() if each is None or each.is_stateful}
