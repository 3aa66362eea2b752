"""The pass `loop`: many steps in one ``session.run``, by a loop in the graph around the operations of a step.

Operations are copied into the body of a loop in the same graph, which shares state (variables, iterators, tables)
with the originals. Steps that gather their rows in memory do so in the loop, in a copy made for full batches.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import control_flow_ops

from tfdistribute.engine.graph import copies, effects
from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.engine.step.program import NotRepeatableError, StepProgram

v1 = tf.compat.v1
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


def check(program: StepProgram) -> None:
    """Raise NotRepeatableError if an operation of a step cannot be repeated inside one run."""
    for operation in program.operations():
        reason = _REFUSED.get(operation.type, _old_reference(operation))
        if reason is not None:
            raise NotRepeatableError(f"{operation.type} {operation.name!r} {reason}")


class StepLoop:
    """A loop around a step, and the losses of its steps. ``options`` are passed to each ``session.run``."""

    def __init__(self, program: StepProgram, global_step: Any, options: Any = None) -> None:
        graph = program.graph
        self._options = options
        # The first of those that a strategy keeps equal.
        counter = replicated_variables.components(global_step)[0].handle
        with (
            graph.as_default(),
            unfinalize(graph),
            tf.device("/cpu:0"),
            tf.name_scope("many_steps"),
        ):
            self._wanted = v1.placeholder(tf.int32, [], "wanted")
            self._kept = raw.VarHandleOp(
                dtype=tf.float64, shape=[MAX_STEPS], shared_name=f"{graph.unique_name('losses')}"
            )
            self._empty = raw.AssignVariableOp(
                resource=self._kept, value=tf.zeros([MAX_STEPS], tf.float64)
            )
            self._reader = program.reader
            self._numbers = [] if self._reader is None else self._reader.placeholders()
            done = self._loop(program)
            with tf.control_dependencies([done]):
                self._after = {
                    "losses": self._losses()[:done],
                    "step": raw.ReadVariableOp(resource=counter, dtype=tf.int64),
                }
            self._now = {
                "losses": self._losses(),
                "step": raw.ReadVariableOp(resource=counter, dtype=tf.int64),
            }

    def _loop(self, program: StepProgram) -> Any:
        definition = copies.define(program.operations())
        resources = {tensor.name: tensor for each in program.resources() for tensor in each.outputs}
        targets = [program.targets[0].name, program.loss.name]

        def condition(done: Any, loss: Any) -> Any:
            return tf.logical_and(done < self._wanted, tf.logical_not(tf.math.is_nan(loss)))

        def body(done: Any, _loss: Any) -> Any:
            batch = {} if self._reader is None else self._reader.gather(self._numbers, done)
            # An operation without a device stays without one: TensorFlow places it as it places the original.
            with tf.device(None):
                inputs = {**resources, **batch}
                trained, new = copies.insert(definition, inputs, targets, "steps")
            with tf.device("/cpu:0"):
                new = tf.cast(tf.reshape(new, []), tf.float64)
                update = raw.ResourceScatterUpdate(resource=self._kept, indices=done, updates=new)
                with tf.control_dependencies([trained, update]):
                    return done + 1, tf.identity(new)

        context = control_flow_ops.WhileContext(parallel_iterations=1, name="loop")
        begin = (tf.constant(0), tf.constant(0.0, tf.float64))
        # A loop of TensorFlow 1 is part of the graph, and starts twice as fast as a loop function.
        done, _ = context.BuildLoop(condition, body, begin, None, False)
        return done

    def _losses(self) -> Any:
        return raw.ReadVariableOp(resource=self._kept, dtype=tf.float64)

    def prepare(self, session: Any) -> None:
        session.run(self._empty)

    def run(self, session: Any, steps: int) -> tuple[int, Any]:
        """Take steps until a loss is NaN; return the global step and the losses.

        At most ``steps``; with a reader, at most as many as it has full batches for.
        """
        fed: dict[Any, Any] = {self._wanted: steps}
        if self._reader is not None:
            fed |= zip(self._numbers, self._reader.cursor.show(steps), strict=True)
        values = session.run(self._after, fed, options=self._options)
        if self._reader is not None:
            self._reader.cursor.advance(len(values["losses"]))
        return int(values["step"]), values["losses"]

    def read_losses(self, session: Any, begun_at: int) -> tuple[int, Any]:
        """Return what ``run`` would have returned, if it ended with an error, such as the end of the input."""
        values = session.run(self._now)
        step = int(values["step"])
        return step, np.array(values["losses"][: max(0, step - begun_at)])


@contextlib.contextmanager
def unfinalize(graph: Any) -> Iterator[None]:
    """Allow changes to a graph that a session has finalized."""
    was_final = graph.finalized
    if was_final:
        graph._unsafe_unfinalize()
    try:
        yield
    finally:
        if was_final:
            graph.finalize()


def _old_reference(operation: Any) -> str | None:
    is_reference = effects.returns_reference(operation)
    return "gives a reference to a variable of the old kind" if is_reference else None
