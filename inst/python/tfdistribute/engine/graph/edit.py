"""Changes of edges in a graph, for operations that no session has run.

Source:
    ``Operation._update_input`` and ``_add_control_inputs`` in tensorflow/python/framework/ops.py, with which TensorFlow
    makes loops.
"""

from collections.abc import Iterable
from typing import Any


def set_input(operation: Any, index: int, tensor: Any) -> None:
    """Let an operation read another tensor of the same type as one of its inputs."""
    operation._update_input(index, tensor)


def redirect(old: Any, new: Any) -> None:
    """Let all operations that read a tensor read another one of the same graph and type."""
    for user in old.consumers():
        for index, tensor in enumerate(user.inputs):
            if tensor.name == old.name:
                set_input(user, index, new)


def add_controls(operation: Any, before: Iterable[Any]) -> None:
    operation._add_control_inputs(list(before))


def replace_control(operation: Any, old: Any, new: Any = None) -> None:
    """Let an operation wait for another operation, or for none, in place of an old one."""
    others = [each for each in operation.control_inputs if each.name != old.name]
    operation._remove_all_control_inputs()
    add_controls(operation, others if new is None else [*others, new])
