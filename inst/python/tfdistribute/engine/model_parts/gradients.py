"""Gradients beside the operations that they are gradients of.

TensorFlow leaves the gradients of a TensorFlow 1 optimizer, of Keras's and of a tape without a device: the backward
pass of a model over several devices, two thirds of its work, then runs on the first of them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gradients_util

from tfdistribute.engine import micro_batches
from tfdistribute.engine.model_parts import assignment

# For each tape, the recorded parts of a graph: the number of operations at their beginnings and ends.
_PARTS = "_tfdistribute_recorded"


@functools.cache
def install() -> None:
    """Place gradients; only inside model functions.

    Source:
        ``_maybe_colocate_with`` in tensorflow/python/ops/gradients_util.py;
        https://github.com/keras-team/keras/issues/3620
    """
    colocate_with = gradients_util._maybe_colocate_with

    @contextlib.contextmanager
    def beside(operation: Any, gradient_uid: Any, colocate: bool) -> Iterator[None]:
        device = _device_to_follow(operation)
        placed: Any = ops.device(device) if device else contextlib.nullcontext()
        with placed, colocate_with(operation, gradient_uid, colocate):
            yield

    gradients_util._maybe_colocate_with = beside
    _install_for_tapes()


def _device_to_follow(operation: Any) -> str:
    if assignment.current_scope() is None or not operation.device:
        return ""
    # A parameter server computes nothing but updates.
    return "" if tf.DeviceSpec.from_string(operation.device).job == "ps" else operation.device


def _install_for_tapes() -> None:
    tape = tf.GradientTape
    push, pop, gradient = tape._push_tape, tape._pop_tape, tape.gradient

    @functools.wraps(push)
    def recording(self: Any) -> None:
        push(self)
        if assignment.current_scope() is not None:
            vars(self).setdefault(_PARTS, []).append([_size(), None])

    @functools.wraps(pop)
    def stopped(self: Any) -> None:
        pop(self)
        if vars(self).get(_PARTS):
            vars(self)[_PARTS][-1][1] = _size()

    @functools.wraps(gradient)
    def of_graph(
        self: Any,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = tf.UnconnectedGradients.NONE,
    ) -> Any:
        if self._tape is None or target is None or not vars(self).get(_PARTS):
            return gradient(self, target, sources, output_gradients, unconnected_gradients)
        recorded = _recorded(self)
        if not _needs_graph(recorded):
            return gradient(self, target, sources, output_gradients, unconnected_gradients)
        if self._recording and not self._persistent:
            self._pop_tape()
        if not self._persistent:
            self._watched_variables = self._tape.watched_variables()
            self._tape = None
        return _gradients(recorded, target, sources, output_gradients, unconnected_gradients)

    tape._push_tape, tape._pop_tape, tape.gradient = recording, stopped, of_graph


def _size() -> int:
    return len(ops.get_default_graph().get_operations())


def _recorded(tape: Any) -> dict[str, Any]:
    operations = ops.get_default_graph().get_operations()
    return {
        operation.name: operation
        for begin, end in vars(tape)[_PARTS]
        for operation in operations[begin:end]
    }


def _needs_graph(recorded: dict[str, Any]) -> bool:
    """Return whether a tape knows too little: not the devices, nor copies of operations or parts of the batch."""
    scope = assignment.current_scope()
    if micro_batches.current() is not None or (scope is not None and scope.has_copies):
        return True
    return len({_device_to_follow(operation) for operation in recorded.values()} - {""}) > 1


def _gradients(
    recorded: dict[str, Any],
    target: Any,
    sources: Any,
    output_gradients: Any,
    unconnected_gradients: Any,
) -> Any:
    targets = tf.nest.flatten(target)
    found = tf.gradients(
        targets,
        tf.nest.flatten(sources),
        None if output_gradients is None else tf.nest.flatten(output_gradients),
        stop_gradients=_not_recorded(recorded, targets),
        unconnected_gradients=unconnected_gradients,
    )
    return tf.nest.pack_sequence_as(sources, found)


def _not_recorded(recorded: dict[str, Any], targets: list[Any]) -> list[Any]:
    """List the tensors that recorded operations took from others: constants to a tape."""
    found: dict[str, Any] = {}
    seen: set[str] = set()
    waiting = [tensor.op for tensor in targets if tensor.op.name in recorded]
    while waiting:
        operation = waiting.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        for tensor in operation.inputs:
            if tensor.op.name in recorded:
                waiting.append(tensor.op)
            elif tensor.dtype != tf.resource:
                found[tensor.name] = tensor
    return list(found.values())
