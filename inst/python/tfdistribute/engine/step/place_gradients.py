"""The pass `place_gradients`: gradients beside the operations that they are gradients of.

TensorFlow leaves the gradients of optimizers and tapes without a device, so the first of several devices computes the
backward pass of a model, two thirds of its work.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfdistribute.engine import patches
from tfdistribute.engine.graph import walk
from tfdistribute.engine.model_parts import assignment
from tfdistribute.engine.step import accumulate, passes, replica_scale

# For each tape, the recorded parts of a graph: the number of operations at their beginnings and ends.
_PARTS = "_tfdistribute_recorded"


def install() -> None:
    """Place gradients; only inside model functions."""
    patches.install("place_gradients", _beside)
    patches.install("tape_gradients", _push, _pop, _gradient)


@contextlib.contextmanager
def _beside(
    colocate_with: Any, operation: Any, gradient_uid: Any, colocate: bool
) -> Iterator[None]:
    device = _device_to_follow(operation) if _is_on() else ""
    placed: Any = ops.device(device) if device else contextlib.nullcontext()
    with placed, colocate_with(operation, gradient_uid, colocate):
        yield


def _device_to_follow(operation: Any) -> str:
    if assignment.current_scope() is None or not operation.device:
        return ""
    # A parameter server computes nothing but updates.
    return "" if tf.DeviceSpec.from_string(operation.device).job == "ps" else operation.device


def _push(push: Any, tape: Any) -> None:
    push(tape)
    if assignment.current_scope() is not None:
        vars(tape).setdefault(_PARTS, []).append([_size(), None])


def _pop(pop: Any, tape: Any) -> None:
    pop(tape)
    if vars(tape).get(_PARTS):
        vars(tape)[_PARTS][-1][1] = _size()


def _gradient(
    gradient: Any,
    tape: Any,
    target: Any,
    sources: Any,
    output_gradients: Any = None,
    unconnected_gradients: Any = tf.UnconnectedGradients.NONE,
) -> Any:
    of_tape = tape._tape
    in_graph = bool(of_tape) and target is not None and vars(tape).get(_PARTS)
    recorded = _recorded_operations(tape) if in_graph else {}
    if not in_graph or not _needs_graph(recorded):
        return gradient(tape, target, sources, output_gradients, unconnected_gradients)
    if tape._recording and not tape._persistent:
        tape._pop_tape()
    if not tape._persistent:
        tape._watched_variables = of_tape.watched_variables()
        tape._tape = None
    return _gradients(recorded, target, sources, output_gradients, unconnected_gradients)


def _size() -> int:
    return len(ops.get_default_graph().get_operations())


def _recorded_operations(tape: Any) -> dict[str, Any]:
    operations = ops.get_default_graph().get_operations()
    return {
        operation.name: operation
        for begin, end in vars(tape)[_PARTS]
        for operation in operations[begin:end]
    }


def _needs_graph(recorded: dict[str, Any]) -> bool:
    scope = assignment.current_scope()
    if accumulate.current() or replica_scale.current() or (scope is not None and scope.has_copies):
        return True
    if not _is_on():
        return False
    return len({_device_to_follow(operation) for operation in recorded.values()} - {""}) > 1


def _is_on() -> bool:
    return passes.is_on("place_gradients")


def _gradients(
    recorded: dict[str, Any],
    target: Any,
    sources: Any,
    output_gradients: Any,
    unconnected_gradients: Any,
) -> Any:
    targets = tf.nest.flatten(target)
    gradients = tf.gradients(
        targets,
        tf.nest.flatten(sources),
        None if output_gradients is None else tf.nest.flatten(output_gradients),
        stop_gradients=_unrecorded_inputs(recorded, targets),
        unconnected_gradients=unconnected_gradients,
    )
    return tf.nest.pack_sequence_as(sources, gradients)


def _unrecorded_inputs(recorded: dict[str, Any], targets: list[Any]) -> list[Any]:
    own = walk.ancestors(targets, control=False, until=lambda each: each.name not in recorded)
    return [each for each in walk.outside_inputs(list(own)).values() if each.dtype != tf.resource]
