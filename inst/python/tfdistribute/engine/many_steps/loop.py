"""A loop in the graph around the operations of a training step: many steps in one ``session.run``.

On small models Python and the start of ``session.run`` take most of a step's time. The operations of a step are copied
into the body of a loop in the same graph. State (variables, iterators, tables) is shared with the originals, so a step
in the loop is like any other. Steps that gather their rows in memory do so in the loop, and their copy is made for full
batches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import control_flow_ops

from tfdistribute.engine.many_steps import calling_thread, static_batch, step_graph
from tfdistribute.engine.many_steps.by_row import Rows
from tfdistribute.engine.many_steps.resident_rows import RowReader
from tfdistribute.engine.many_steps.vocabularies import vocabularies_of
from tfdistribute.engine.repairs import replicated_variables

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


# Types of operations that wait for other threads or tasks begin with these.
_WAITING = ("Collective", "Recv", "_Recv", "PyFunc", "EagerPyFunc", "Iterator", "Queue", "Barrier")


class NotRepeatableError(Exception):
    """The graph has an operation that cannot be repeated inside one run; the text names it."""


class Step:
    """The operations that one step of training needs.

    Raises:
        NotRepeatableError: one of them cannot be repeated inside one run.
    """

    def __init__(self, train_op: Any, loss: Any, reader: RowReader | None = None) -> None:
        self.train_op = getattr(train_op, "op", train_op)
        self.loss = loss
        self.graph = loss.graph
        self.reader = reader
        given = set() if reader is None else {reader.batch[0].op.name}
        self.operations, self.owners = _collect([self.train_op, loss.op], given)
        for operation in self.operations:
            reason = _REFUSED.get(operation.type, _old_reference(operation))
            if reason is not None:
                raise NotRepeatableError(f"{operation.type} {operation.name!r} {reason}")

    def definition(self) -> tuple[Any, dict[str, Any]]:
        """Return a ``GraphDef`` of the operations, for full batches if there is a reader.

        And arrays that were computed for all rows, by the name of the tensor that the operations read in their place.
        """
        definition, kept = self._definition(), dict[str, Any]()
        if self.reader is not None:
            definition, kept = self._with_full_batches(definition, self.reader)
        # The graph has the resources and functions already, by name.
        owners = {owner.name for owner in self.owners}
        copied = v1.GraphDef(versions=definition.versions)
        for node in definition.node:
            if node.name not in owners:
                copied.node.add().CopyFrom(node)
        for node in copied.node:
            read = [
                name for name in node.input if name.lstrip("^") == name or name[1:] not in owners
            ]
            del node.input[:]
            node.input.extend(read)
        return copied, kept

    def copy(self, definition: Any, batch: Mapping[str, Any]) -> Any:
        """Copy the operations into the current context of the graph; return the training operation and the loss.

        Args:
            definition: What ``definition()`` has returned.
            batch: Tensors that it reads, by name, in place of those that the reader gives to a step.
        """
        inputs = {tensor.name: tensor for owner in self.owners for tensor in owner.outputs}
        return tf.import_graph_def(
            definition,
            input_map=step_graph.only_read({**inputs, **batch}, definition),
            return_elements=[self.train_op.name, self.loss.name],
            name="steps",
        )

    def _definition(self) -> Any:
        definition = v1.GraphDef()
        definition.versions.CopyFrom(self.graph.graph_def_versions)
        for operation in [*self.owners, *self.operations]:
            node = definition.node.add()
            node.CopyFrom(operation.node_def)
            # Operations are colocated with the resources that they read; other originals are not in the copy.
            node.attr.pop("_class", None)
        return definition

    def _with_full_batches(self, definition: Any, reader: RowReader) -> tuple[Any, dict[str, Any]]:
        """Leave out what a step needs for batches of other sizes, and what is the same for all rows."""
        rows = reader.rows
        for function in self.graph._functions.values():
            definition.library.function.add().CopyFrom(function.cached_definition)
        given = {
            tensor.name: (tensor.dtype, [rows.batch_size, tensor.shape[1]])
            for tensor in reader.batch
        }
        matrices = dict(zip(given, [*rows.matrices] * rows.replicas, strict=True))
        tables = (reader.tables, vocabularies_of(self.graph))
        everything = Rows(matrices, rows.replicas, *tables)
        fetches = [self.train_op.name, self.loss.op.name]
        return static_batch.simplified(definition, fetches, given, everything)


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
            self._wanted = v1.placeholder(tf.int32, [], "wanted")
            self._kept = raw.VarHandleOp(
                dtype=tf.float64, shape=[MAX_STEPS], shared_name=f"{graph.unique_name('losses')}"
            )
            self._empty = raw.AssignVariableOp(
                resource=self._kept, value=tf.zeros([MAX_STEPS], tf.float64)
            )
            self._reader = step.reader
            self.can_run_here = (
                step.reader is not None
                and calling_thread.is_possible()
                and not any(operation.type.startswith(_WAITING) for operation in step.operations)
            )
            self._numbers = [] if step.reader is None else step.reader.placeholders()
            definition, kept = step.definition()
            if step.reader is not None:
                step.reader.keep(kept)
            done = self._loop(step, definition)
            with tf.control_dependencies([done]):
                self._after = {
                    "losses": self._losses()[:done],
                    "step": raw.ReadVariableOp(resource=counter, dtype=tf.int64),
                }
            self._now = {
                "losses": self._losses(),
                "step": raw.ReadVariableOp(resource=counter, dtype=tf.int64),
            }

    def _loop(self, step: Step, definition: Any) -> Any:
        def condition(done: Any, loss: Any) -> Any:
            return tf.logical_and(done < self._wanted, tf.logical_not(tf.math.is_nan(loss)))

        def body(done: Any, loss: Any) -> Any:
            del loss
            batch = {} if self._reader is None else self._reader.gather(self._numbers, done)
            # An operation without a device stays without one: TensorFlow places it as it places the original.
            with tf.device(None):
                trained, new = step.copy(definition, batch)
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
        """Initialise the losses in a session, and give it what was computed for all rows."""
        session.run(self._empty)
        if self._reader is not None:
            self._reader.provide_kept(session)

    def run(self, session: Any, steps: int, in_this_thread: bool = False) -> tuple[int, Any]:
        """Take steps until a loss is NaN; return the global step and the losses.

        Args:
            session: The session of the training.
            steps: Maximum number of steps; with a reader, at most as many as it has full batches for.
            in_this_thread: Whether the operations run in the calling thread, if they are on one device.
        """
        fed: dict[Any, Any] = {self._wanted: steps}
        if self._reader is not None:
            fed |= zip(self._numbers, self._reader.cursor.show(steps), strict=True)
        context = calling_thread.run_options() if in_this_thread else contextlib.nullcontext()
        with context as options:
            values = session.run(self._after, fed, options=options)
        if self._reader is not None:
            self._reader.cursor.advance(len(values["losses"]))
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


def _collect(targets: Iterable[Any], given: set[str]) -> tuple[list[Any], list[Any]]:
    """List the operations that the targets depend on, and separately those that only name a resource.

    Operations that are given are left out.
    """
    found: dict[str, Any] = {}
    owners: dict[str, Any] = {}
    waiting = list(targets)
    while waiting:
        operation = waiting.pop()
        if operation.name in found or operation.name in owners or operation.name in given:
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
