"""The time in which training steps wait for the rows of their input, measured in the graph.

A step begins with the request for its batch. Two operations read the clock, when the step begins and when it has its
batch, and a variable keeps the sum of the differences, also of steps that one ``session.run`` takes. Replicas may get
their batches one after the other, so each has a variable, and a step waits for the last.
"""

import contextlib
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import walk
from tfdistribute.engine.hooks.step_requirements import no_steps_required

raw = tf.raw_ops

_SCOPE = "input_wait_{}/"
# Rows in memory that the graph gathers itself are there when a step begins.
_ITERATORS = ("IteratorGetNext", "IteratorGetNextAsOptional", "IteratorGetNextSync")


class ResetInputWait(tf.estimator.SessionRunHook):
    """Let a new session count from zero."""

    required_steps = no_steps_required

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(_all(session.graph, "reset"))


def measured(spec: Any, batch: Any) -> Any:
    """Return a specification whose training step measures how long its replica waits for its batch."""
    graph = tf.compat.v1.get_default_graph()
    # Parameter servers would hold the variable, and a TPU has no clock.
    strategy = type(tf.distribute.get_strategy()).__name__
    if "ParameterServer" in strategy or "TPU" in strategy:
        return spec
    needed = set(walk.ancestors([spec.train_op, spec.loss]))
    if not any(each.type in _ITERATORS for each in needed):
        return spec
    scope = _SCOPE.format(len(waited_seconds(graph)))
    with tf.name_scope(scope), tf.device("/cpu:0"):
        begun = tf.timestamp()
        # A batch may lack labels, and an input function may return Python's numbers, or iterators that no step reads.
        with tf.control_dependencies(
            [each for each in walk.tensors_in(batch) if each.op in needed]
        ):
            received = tf.timestamp()
        variable = raw.VarHandleOp(dtype=tf.float64, shape=[], shared_name=scope)
        zero = tf.zeros([], tf.float64)
        raw.AssignVariableOp(resource=variable, value=zero, name="reset")
        added = raw.AssignAddVariableOp(resource=variable, value=received - begun)
        raw.ReadVariableOp(resource=variable, dtype=tf.float64, name="seconds")
    return spec._replace(
        train_op=tf.group(spec.train_op, added),
        training_hooks=(*spec.training_hooks, ResetInputWait()),
    )


def waited_seconds(graph: Any) -> list[Any]:
    """Return a tensor for each replica, the seconds since the session began; none if they are not measured."""
    return [each.outputs[0] for each in _all(graph, "seconds")]


def _all(graph: Any, name: str) -> list[Any]:
    found: list[Any] = []
    with contextlib.suppress(KeyError):
        while True:
            found.append(graph.get_operation_by_name(f"{_SCOPE.format(len(found))}{name}"))
    return found
