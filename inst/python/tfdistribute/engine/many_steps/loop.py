"""A loop in the graph around the operations of a training step: many steps in one ``session.run``.

On small models Python and the start of ``session.run`` take most of a step's time. The operations of a step are copied
into the body of a loop in the same graph. State (variables, iterators, tables) is shared with the originals, so a step
in the loop is like any other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import control_flow_ops

from tfdistribute.engine.repairs import replicated_variables

raw = tf.raw_ops

# Maximum number of losses kept until the end of a run.
MAX_STEPS = 4096

# Operations that cannot be repeated inside one run, with the reason.
_REFUSED = {
    "Placeholder": "is fed from outside at every step",
    "VariableV2": "holds a variable of the old kind (use_resource=False)",
    "Variable": "holds a variable of the old kind (use_resource=False)",
    "Enter": "is part of a loop of the old kind",
    "RefEnter": "is part of a loop of the old kind",
}


class NotRepeatableError(Exception):
    """The graph has an operation that cannot be repeated inside one run; the text names it."""


class Step:
    """The operations that one step of training needs.

    Raises:
        NotRepeatableError: one of them cannot be repeated inside one run.
    """

    def __init__(self, train_op: Any, loss: Any) -> None:
        self.train_op = getattr(train_op, "op", train_op)
        self.loss = loss
        self.graph = loss.graph
        self.operations, self.owners = _collect([self.train_op, loss.op])
        for operation in self.operations:
            reason = _REFUSED.get(operation.type, _old_reference(operation))
            if reason is not None:
                raise NotRepeatableError(f"{operation.type} {operation.name!r} {reason}")

    def copy(self) -> Any:
        """Copy the operations into the current context of the graph; return the training operation and the loss."""
        shared = {tensor.name: tensor for owner in self.owners for tensor in owner.outputs}
        return tf.import_graph_def(
            self._definition(),
            input_map=shared,
            return_elements=[self.train_op.name, self.loss.name],
            name="steps",
        )

    def _definition(self) -> Any:
        definition = tf.compat.v1.GraphDef()
        definition.versions.CopyFrom(self.graph.graph_def_versions)
        owners = {f"^{owner.name}" for owner in self.owners}
        for operation in self.operations:
            node = definition.node.add()
            node.CopyFrom(operation.node_def)
            kept = [name for name in node.input if name not in owners]
            del node.input[:]
            node.input.extend(kept)
            # Operations are colocated with the resources that they read; other originals are not in the copy.
            node.attr.pop("_class", None)
        # The graph has the functions already, by name.
        return definition


class StepLoop:
    """A loop around a step, and the losses of its steps."""

    def __init__(self, step: Step, global_step: Any) -> None:
        graph = step.graph
        # The first of those that a strategy keeps equal.
        counter = replicated_variables.components(global_step)[0].handle
        with (
            graph.as_default(),
            _unfinalized(graph),
            tf.device("/cpu:0"),
            tf.name_scope("many_steps"),
        ):
            self._wanted = tf.compat.v1.placeholder(tf.int32, [], "wanted")
            self._kept = raw.VarHandleOp(
                dtype=tf.float64, shape=[MAX_STEPS], shared_name=f"{graph.unique_name('losses')}"
            )
            self._empty = raw.AssignVariableOp(
                resource=self._kept, value=tf.zeros([MAX_STEPS], tf.float64)
            )
            done = self._loop(step)
            with tf.control_dependencies([done]):
                self._after = {
                    "losses": self._losses()[:done],
                    "step": raw.ReadVariableOp(resource=counter, dtype=tf.int64),
                }
            self._now = {
                "losses": self._losses(),
                "step": raw.ReadVariableOp(resource=counter, dtype=tf.int64),
            }

    def _loop(self, step: Step) -> Any:
        def condition(done: Any, loss: Any) -> Any:
            return tf.logical_and(done < self._wanted, tf.logical_not(tf.math.is_nan(loss)))

        def body(done: Any, loss: Any) -> Any:
            del loss
            # An operation without a device stays without one: TensorFlow places it as it places the original.
            with tf.device(None):
                trained, new = step.copy()
            with tf.device("/cpu:0"):
                new = tf.cast(tf.reshape(new, []), tf.float64)
                kept = raw.ResourceScatterUpdate(resource=self._kept, indices=done, updates=new)
                with tf.control_dependencies([trained, kept]):
                    return done + 1, tf.identity(new)

        context = control_flow_ops.WhileContext(parallel_iterations=1, name="loop")
        begin = (tf.constant(0), tf.constant(0.0, tf.float64))
        # A loop of TensorFlow 1 is part of the graph, and starts twice as fast as a loop function.
        done, _ = context.BuildLoop(condition, body, begin, None, False)
        return done

    def _losses(self) -> Any:
        return raw.ReadVariableOp(resource=self._kept, dtype=tf.float64)

    def prepare(self, session: Any) -> None:
        """Initialise the losses in a session."""
        session.run(self._empty)

    def run(self, session: Any, steps: int) -> tuple[int, Any]:
        """Take steps until a loss is NaN; return the global step and the losses."""
        values = session.run(self._after, {self._wanted: steps})
        return int(values["step"]), values["losses"]

    def interrupted(self, session: Any, begun_at: int) -> tuple[int, Any]:
        """Return what ``run`` would have returned, if it ended with an error, such as the end of the input."""
        values = session.run(self._now)
        step = int(values["step"])
        return step, np.array(values["losses"][: max(0, step - begun_at)])


@contextlib.contextmanager
def _unfinalized(graph: Any) -> Iterator[None]:
    """Allow changes to a graph that a session has finalized."""
    was_final = graph.finalized
    if was_final:
        graph._unsafe_unfinalize()
    try:
        yield
    finally:
        if was_final:
            graph.finalize()


def _collect(targets: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """List the operations that the targets depend on, and separately those that only name a resource."""
    found: dict[str, Any] = {}
    owners: dict[str, Any] = {}
    waiting = list(targets)
    while waiting:
        operation = waiting.pop()
        if operation.name in found or operation.name in owners:
            continue
        if _is_owner(operation):
            owners[operation.name] = operation
            continue
        found[operation.name] = operation
        waiting += [*_sources(operation)]
    return list(found.values()), list(owners.values())


def _sources(operation: Any) -> Iterator[Any]:
    for tensor in operation.inputs:
        yield tensor.op
    yield from operation.control_inputs


def _is_owner(operation: Any) -> bool:
    return not operation.inputs and any(o.dtype == tf.resource for o in operation.outputs)


def _old_reference(operation: Any) -> str | None:
    is_reference = any(output.dtype._is_ref_dtype for output in operation.outputs)
    return "gives a reference to a variable of the old kind" if is_reference else None
