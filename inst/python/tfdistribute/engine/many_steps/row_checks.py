"""Operations of a step that only check it, such as that labels are classes."""

from __future__ import annotations

from typing import Any

from tfdistribute.engine.graph import effects, functions, walk


def only_checks(operation: Any) -> bool:
    """Return whether an operation does nothing but end the step if its first input is false."""
    if operation.type == "Assert":
        return True
    if operation.type not in ("If", "StatelessIf"):
        return False
    if any(each.type != "Identity" or walk.users(each) for each in walk.users(operation)):
        return False
    branches = [
        functions.find(operation.graph, operation.get_attr(name).name)
        for name in ("then_branch", "else_branch")
    ]
    if None in branches:
        return False
    passing, failing = map(_with_state, branches)
    return not passing and failing == {"Assert"}


def _with_state(function: Any) -> set[str]:
    """Return the types of operations of a function that are more than computations."""
    return {node.op for node in function.node_def if effects.is_stateful_type(node.op)}
