"""The pass `accumulate`: gradient accumulation over the micro-batches of a batch, with the memory of one.

The model function is called once, with the first micro-batch. Its operations are copied into a loop over all
micro-batches, and what reads their gradients and losses reads the accumulated ones instead. Only these are known to be
sums or means over rows. Everything that changes a variable runs once a step, and what it computes from the rows is
computed from the rows of the whole batch. With a single micro-batch, the loop only computes gradients again that have
overflowed in float16.
"""

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfdistribute.engine import patches
from tfdistribute.engine.graph import edit, effects, walk
from tfdistribute.engine.graph.copies import Subgraph
from tfdistribute.engine.graph.recompute import recompute
from tfdistribute.engine.step import loss_scale, replica_scale
from tfdistribute.engine.step.distinct_rows import holds_each_index_once, sum_rows
from tfdistribute.engine.step.loss_scale import LossScale
from tfdistribute.engine.step.micro_batches import AccumulatedValue, Batch, Updates, summaries
from tfdistribute.errors import ModelError

v1 = tf.compat.v1

# Of a graph: the names of what the loops of all replicas replace.
_INPUTS = "_tfdistribute_micro_batch_inputs"


class AccumulatedStep:
    """A training step that one replica takes.

    ``micro_batches`` is lower if there are fewer rows, and ``scales_loss`` is for gradients in float16. The
    attributes ``features`` and ``labels`` hold the first micro-batch, ``index`` its number from 0, as a tensor of
    int32. ModelError if the batch has no rows.
    """

    def __init__(
        self,
        features: Any,
        labels: Any,
        micro_batches: int,
        sums_loss: bool = False,
        scales_loss: bool = False,
    ) -> None:
        patches.install("gradients_of_rows", gradients_of_rows)
        self._graph = ops.get_default_graph()
        self._how, self._scales_loss = "sum" if sums_loss else "mean", scales_loss
        self._is_single = micro_batches == 1 and scales_loss
        self._gradients: list[AccumulatedValue] = []
        self._updates = Updates()
        self._after_changes: set[str] = set()  # Names of what reads results of a change of state.
        with tf.name_scope("micro_batches"):
            self._batch = Batch((features, labels), micro_batches)
            first = self._batch.micro_batch(tf.constant(0))
            first = tf.nest.map_structure(_identity, first, expand_composites=True)
            self._state = LossScale(scales_loss)
            self._begin = self._state.read()
            self.index, self._scale = tf.identity(tf.constant(0)), tf.identity(self._begin[0])
        self.features, self.labels = first
        self._inputs = [*walk.tensors_in(first), self.index, self._scale]
        self._input_names = _names(tensor.op for tensor in self._inputs)
        setattr(self._graph, _INPUTS, self._input_names | getattr(self._graph, _INPUTS, set()))

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record the gradients that the model function computes inside the block."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def accumulate(self, spec: Any) -> Any:
        """Make the loops, and return an ``EstimatorSpec`` with the loss of the whole batch.

        A second loop is needed if gradients depend on others, or on variables that have changed. ModelError if
        micro-batches cannot replace the batch.
        """
        loss, train_op = tf.reshape(spec.loss, []), getattr(spec.train_op, "op", spec.train_op)
        if self._is_single:
            values, edges = self._gradients, []
            self._follow_data(loss.op)
        else:
            self._compute_state_once(spec.loss, loss, train_op)
            values, edges = self._read_by(train_op, loss.op)
        while values or edges:
            later = self._later(values, edges)
            self._add_loop(
                [each for each in values if each.tensor.op.name not in later],
                [edge for edge in edges if edge[1].name not in later],
            )
            values = [each for each in values if each.tensor.op.name in later]
            edges = [edge for edge in edges if edge[1].name in later]
        return spec._replace(loss=loss)

    def record(self, helper: Any, ys: Any, xs: Any, grad_ys: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the gradients of the whole batch from the first micro-batch; only for weights."""
        sources = tf.nest.flatten(xs)
        if ops.get_default_graph() is not self._graph or not self._are_weights(sources):
            return helper(ys, xs, grad_ys, *args, **kwargs)
        if self._scales_loss:
            grad_ys = replica_scale.scaled_gradients(tf.nest.flatten(ys), grad_ys, self._scale)
        gradients = helper(ys, xs, grad_ys, *args, **kwargs)
        with tf.name_scope("micro_batches"):
            return list(map(self._record_gradient, gradients, sources))

    def _are_weights(self, sources: list[Any]) -> bool:
        tensors = (each for each in sources if isinstance(each, tf.Tensor))
        return self._input_names.isdisjoint(_names(walk.ancestors(tensors, control=False)))

    def _record_gradient(self, gradient: Any, source: Any) -> Any:
        if gradient is None:
            return None
        if self._scales_loss:
            gradient = loss_scale.unscale(gradient, self._scale)
        if not isinstance(gradient, tf.IndexedSlices):
            is_known = gradient.shape.is_fully_defined()
            return self._record_value(gradient, gradient.shape if is_known else source.shape)
        values, indices = (
            self._record_value(each, [None, *each.shape[1:]], is_rows=True)
            for each in (gradient.values, gradient.indices)
        )
        recorded = tf.IndexedSlices(values, indices, gradient.dense_shape)
        if self._is_single or not holds_each_index_once(gradient.indices):
            return recorded
        # The norm of a gradient, by which it may be clipped, is then the norm over the whole batch.
        return sum_rows(recorded)

    def _record_value(self, tensor: Any, shape: Any, is_rows: bool = False) -> Any:
        with tf.device(tensor.device):
            user = v1.placeholder_with_default(tensor, shape)
        self._gradients.append(
            AccumulatedValue(user.op, self._how, shape, is_gradient=True, is_rows=is_rows)
        )
        return user

    def _follow_data(self, loss: Any) -> None:
        """Find what is computed from the micro-batch, and what must also run after it."""
        ends = {*_names(each.user for each in self._gradients), loss.name}
        self._data, self._after_data = (
            _names(walk.descendants(self._inputs, control, lambda each: each.name in ends))
            - self._input_names
            for control in (False, True)
        )

    def _compute_state_once(self, loss: Any, total: Any, train_op: Any) -> None:
        """Let what changes a variable, and the training operation, read values of the whole batch."""
        self._follow_data(total.op)
        needed = list(walk.ancestors([train_op, total]))
        changing = (each for each in needed if each == train_op or self._updates.are_once(each))
        once = [each for each in changing if each.name in self._data]
        batch = [*walk.tensors_in(self._batch.values), tf.constant(0), self._begin[0]]
        inputs = {own.name: value for own, value in zip(self._inputs, batch, strict=True)}
        if len(loss.op.outputs) == 1:
            inputs[loss.name] = tf.reshape(total, loss.shape)
        recompute(once, self._data, inputs, "whole_batch", self._check_repeated)
        self._follow_data(total.op)
        changes = (each for each in needed if self._updates.are_once(each))
        changed = walk.descendants(filter(self._is_after_data, changes), control=False)
        self._after_changes = _names(changed)

    def _check_repeated(self, copied: Subgraph, operations: list[Any]) -> None:
        self._check_devices(copied, operations)
        for each in filter(effects.has_effects, operations):
            raise self._refusal(each, "would run twice, because a variable depends on it.")

    def _read_by(
        self, train_op: Any, loss: Any
    ) -> tuple[list[AccumulatedValue], list[tuple[Any, Any]]]:
        values = [*self._gradients, AccumulatedValue(loss, self._how, [])]
        values = [each for each in values if self._is_after_data(each.tensor.op)]
        edges: list[tuple[Any, Any]] = []
        for operation in walk.ancestors([train_op, loss]):
            if not self._is_value(operation):
                controls = filter(self._is_value, operation.control_inputs)
                edges += [(operation, control) for control in controls]
                how = self._updates.aggregation(operation)
                if operation.name in self._data and how is not None:
                    shape = tf.TensorShape(operation.inputs[0].op.get_attr("shape"))
                    values.append(AccumulatedValue(operation, how, shape, position=1))
        return values, edges

    def _later(self, values: list[AccumulatedValue], edges: list[tuple[Any, Any]]) -> set[str]:
        """Return the names of what depends on gradients of the next loop, or on variables that change after it."""
        gradients = [each.user for each in values if each.is_gradient]
        later = _names(walk.descendants(gradients))
        waiting = [*(each.user for each in values), *(operation for operation, _ in edges)]
        tensors = (each.tensor for each in values)
        read = _names(walk.ancestors(tensors, False, lambda each: not self._is_after_data(each)))
        changes = walk.descendants(waiting, until=lambda each: each.name in later)
        readers = [each for change in changes for each in effects.readers_after(change, read)]
        return later | _names(walk.descendants(readers))

    def _is_value(self, operation: Any) -> bool:
        return operation.name in self._data and self._updates.aggregation(operation) is None

    def _is_after_data(self, operation: Any) -> bool:
        return operation.name in self._after_data

    def _add_loop(self, values: list[AccumulatedValue], edges: list[tuple[Any, Any]]) -> None:
        controls = list(dict.fromkeys(control for _, control in edges))
        body = self._body([*(each.tensor.op for each in values), *controls])
        for each in (each for each in body if each.type in ("Enter", "RefEnter")):
            raise self._refusal(each, "is part of a loop of TensorFlow 1.")
        if not self._is_single:
            values = [*values, *summaries(_names(body) & self._data, self._how)]
        copied = Subgraph(body)
        self._check_devices(copied, body)
        users = [*(each.user for each in values), *(operation for operation, _ in edges)]
        later = _names(walk.descendants(users))
        before = [each for each in copied.before if each.name not in later]
        # These run after the loop, and before what reads the values that waited for them.
        after = [each for each in copied.before if each.name in later]
        waited = walk.carried(body, after)
        with tf.name_scope("micro_batches"), tf.control_dependencies(before):
            if self._is_single:
                results, end = self._first_or_again(copied, values), None
            else:
                results, end = self._loop(copied, values, controls, self._begin)
        for value, result in zip(values, results, strict=True):
            edit.add_controls(value.user, waited.get(value.tensor.op.name, ()))
            edit.set_input(value.user, value.position, result)
        for operation, control in edges:
            edit.add_controls(operation, waited.get(control.name, ()))
            edit.replace_control(operation, control, end)

    def _body(self, wanted: list[Any]) -> list[Any]:
        def follow(operation: Any) -> list[Any]:
            controls = (
                each
                for each in operation.control_inputs
                if self._is_value(each)
                or not (effects.may_write(each) or each.name in self._after_changes)
            )
            needed = [*walk.sources(operation, control=False), *controls]
            return list(filter(self._is_after_data, needed))

        return walk.in_order(walk.reach(filter(self._is_after_data, wanted), follow))

    def _first_or_again(self, copied: Subgraph, values: list[AccumulatedValue]) -> list[Any]:
        """Return the gradients of the batch, which are computed again with a lower factor if they are not usable."""
        state, gradients = self._state, [each.tensor for each in values]
        usable = state.is_usable(self._begin, gradients)
        after = state.after_micro_batch(self._begin, usable)
        return tf.cond(
            usable,
            lambda: state.keep(after, gradients),
            tf.function(
                lambda: self._loop(copied, values, [], after)[0],
                autograph=False,
                experimental_attributes={"_noinline": True},
            ),
        )

    def _loop(
        self, copied: Subgraph, values: list[AccumulatedValue], controls: list[Any], begin: Any
    ) -> tuple[list[Any], Any]:
        batch, state = self._batch, self._state

        def body(index: Any, scale: Any, totals: list[Any]) -> Any:
            inputs = [*walk.tensors_in(batch.micro_batch(index)), index, scale[0]]
            inputs_by_name = {
                own.name: value for own, value in zip(self._inputs, inputs, strict=True)
            }
            wanted = [*(each.tensor for each in values), *controls]
            copies = copied.copy(inputs_by_name, wanted, "micro_batch")
            new = list(zip(values, copies, strict=False))
            gradients = [copy for each, copy in new if each.is_gradient]
            usable, share = state.is_usable(scale, gradients), batch.share(index)
            totals = [
                each.add(total, copy, index, share, usable)
                for (each, copy), total in zip(new, totals, strict=True)
            ]
            with tf.control_dependencies(copies[len(values) :]):
                following = index + tf.cast(usable, tf.int32)
            return following, state.after_micro_batch(scale, usable), totals

        start = tf.constant(0), begin, [each.zeros(batch.count) for each in values]
        # One micro-batch after another: the memory of one is free before the next begins.
        index, scale, totals = tf.while_loop(
            lambda index, *_: index < batch.count, body, start, parallel_iterations=1
        )
        results = [each.result(total) for each, total in zip(values, totals, strict=True)]
        return state.keep(scale, results), index.op

    def _check_devices(self, copied: Subgraph, operations: list[Any]) -> None:
        is_collective = any("Collective" in each.type or "Nccl" in each.type for each in operations)
        if is_collective or self._exchanges(copied.outside.values()):
            raise _between_devices()

    def _exchanges(self, operations: Iterable[Any]) -> bool:
        others = getattr(self._graph, _INPUTS) - self._input_names
        # There is a placeholder for a replica whose model function has not been called yet.
        return any(
            each.type == "Placeholder" or each.name in others
            for each in walk.ancestors(operations, control=False)
        )

    def _refusal(self, operation: Any, reason: str) -> ModelError:
        if self._exchanges([operation]):
            return _between_devices()
        words = f"operation {operation.name!r} ({operation.type}) of its training step {reason}"
        return _error(words, "Leave `micro_batches` out.")


_current: ContextVar[AccumulatedStep | None] = ContextVar("accumulated_step", default=None)


def current() -> AccumulatedStep | None:
    """Return the step whose model function is being called on this thread."""
    return _current.get()


def gradients_of_rows(
    helper: Any, ys: Any, xs: Any, grad_ys: Any = None, *args: Any, **kwargs: Any
) -> Any:
    step, grad_ys = current(), replica_scale.begin(ys, xs, grad_ys)
    if step is None:
        return helper(ys, xs, grad_ys, *args, **kwargs)
    return step.record(helper, ys, xs, grad_ys, *args, **kwargs)


def _between_devices() -> ModelError:
    return _error(
        "it exchanges values between devices (all_reduce, synchronized batch normalization) before its loss is known.",
        "Leave `micro_batches` out, or normalize over the examples of one device.",
    )


def _error(reason: str, remedy: str) -> ModelError:
    first = f"`micro_batches` cannot be used with this model: {reason}"
    return ModelError(first, remedy, argument="micro_batches")


def _identity(leaf: Any) -> Any:
    return tf.identity(leaf) if isinstance(leaf, tf.Tensor) else leaf


def _names(operations: Iterable[Any]) -> set[str]:
    return {operation.name for operation in operations}
