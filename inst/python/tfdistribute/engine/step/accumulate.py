"""The pass `accumulate`: gradient accumulation over the micro-batches of a batch, with the memory of one.

The model function is called once, with the first micro-batch. The operations that lead from it to gradients, the loss
and updates of variables are copied into a loop over all micro-batches, and what reads their values reads the
accumulated values instead. The first micro-batch's own operations do not run, unless something else asks for them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfdistribute.engine import patches
from tfdistribute.engine.graph import edit, effects, functions, walk
from tfdistribute.engine.graph.copies import Subgraph
from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.engine.step import loss_scale
from tfdistribute.engine.step.micro_batches import AccumulatedValue, Batch
from tfdistribute.errors import ModelError

v1 = tf.compat.v1

_ASSIGNMENTS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
# Of a graph: the names of what the loops of all replicas replace.
_INPUTS = "_tfdistribute_micro_batch_inputs"


@dataclass(frozen=True)
class AccumulationOptions:
    """How an Estimator's training steps are computed.

    Args:
        micro_batches: Micro-batches of each replica's batch.
        sums_loss: Whether the loss is a sum over examples, and not a mean.
        scales_loss: Whether losses are multiplied before they are differentiated, for gradients in float16.
    """

    micro_batches: int = 1
    sums_loss: bool = False
    scales_loss: bool = False

    @property
    def needs_loop(self) -> bool:
        """Whether a step computes its gradients in a loop."""
        return self.micro_batches > 1 or self.scales_loss

    @property
    def how(self) -> str:
        """How losses and gradients are accumulated."""
        return "sum" if self.sums_loss else "mean"


class _Current(threading.local):
    """The step of each thread: TensorFlow may run replicas on threads of their own."""

    step: AccumulatedStep | None = None


_current = _Current()


def current() -> AccumulatedStep | None:
    """Return the step whose model function is being called on this thread."""
    return _current.step


class AccumulatedStep:
    """The training step of one replica.

    Args:
        options: How the step is computed.
        features: The whole batch.
        labels: The whole batch.

    Attributes:
        features: The first micro-batch.
        labels: The first micro-batch.
        index: The number of the micro-batch, from 0: a tensor of int32.

    Raises:
        ModelError: the batch has no rows.
    """

    def __init__(self, options: AccumulationOptions, features: Any, labels: Any) -> None:
        patches.install("micro_batch_gradients", _gradients)
        self.options = options
        self.graph = ops.get_default_graph()
        self.gradients: list[AccumulatedValue] = []
        with tf.name_scope("micro_batches"):
            self.batch = Batch((features, labels), options.micro_batches)
            first = self.batch.micro_batch(tf.constant(0))
            first = tf.nest.map_structure(_identity, first, expand_composites=True)
            self.index, self._scale = tf.identity(tf.constant(0)), tf.identity(tf.constant(1.0))
        self.features, self.labels = first
        self.inputs = [*_tensors(first), self.index, self._scale]
        setattr(self.graph, _INPUTS, self.input_names() | getattr(self.graph, _INPUTS, set()))

    def input_names(self) -> set[str]:
        """Return the names of the operations that the loops replace."""
        return _names(tensor.op for tensor in self.inputs)

    def inputs_of(self, index: Any, scale: Any) -> dict[str, Any]:
        """Return the values of ``inputs`` for a micro-batch, by the names of those of the first one."""
        values = [*_tensors(self.batch.micro_batch(index)), index, scale]
        return {own.name: value for own, value in zip(self.inputs, values, strict=True)}

    def exchanges(self, operations: Iterable[Any]) -> bool:
        """Return whether operations depend on another replica's examples, by data."""
        others = getattr(self.graph, _INPUTS) - self.input_names()
        # There is a placeholder for a replica whose model function has not been called yet.
        return any(
            each.type == "Placeholder" or each.name in others
            for each in walk.ancestors(operations, control=False)
        )

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record the gradients that the model function computes inside the block."""
        before = _current.step
        _current.step = self
        try:
            yield
        finally:
            _current.step = before

    def accumulate(self, spec: Any) -> Any:
        """Make the loops, and return an ``EstimatorSpec`` with the loss of the whole batch.

        Raises:
            ModelError: something in the model cannot be computed in micro-batches.
        """
        loss = tf.reshape(spec.loss, [])
        _Accumulation(self, loss.op).run(getattr(spec.train_op, "op", spec.train_op))
        return spec._replace(loss=loss)

    def record(self, helper: Any, ys: Any, xs: Any, grad_ys: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute gradients of the first micro-batch, and return what will be those of the whole batch.

        Only for weights: a gradient by something else that depends on the examples is part of the model.
        """
        sources = tf.nest.flatten(xs)
        if ops.get_default_graph() is not self.graph or not self._are_weights(sources):
            return helper(ys, xs, grad_ys, *args, **kwargs)
        if self.options.scales_loss:
            grad_ys = self._scaled(tf.nest.flatten(ys), grad_ys)
        gradients = helper(ys, xs, grad_ys, *args, **kwargs)
        with tf.name_scope("micro_batches"):
            return list(map(self._recorded, gradients, sources))

    def _are_weights(self, sources: list[Any]) -> bool:
        tensors = (each for each in sources if isinstance(each, tf.Tensor))
        return self.input_names().isdisjoint(_names(walk.ancestors(tensors, control=False)))

    def _scaled(self, losses: list[Any], grad_ys: Any) -> list[Any]:
        begin = [None] * len(losses) if grad_ys is None else tf.nest.flatten(grad_ys)
        return [
            tf.cast(self._scale, loss.dtype) * (tf.ones_like(loss) if each is None else each)
            for loss, each in zip(losses, begin, strict=True)
        ]

    def _recorded(self, gradient: Any, source: Any) -> Any:
        if gradient is None:
            return None
        if isinstance(gradient, tf.IndexedSlices):
            # All micro-batches have more rows than one.
            tensors = gradient.values, gradient.indices
            shapes = [[None, *each.shape[1:]] for each in tensors]
        else:
            is_known = gradient.shape.is_fully_defined()
            tensors, shapes = (gradient,), [gradient.shape if is_known else source.shape]
        users = list(map(_user, tensors, shapes))
        how, is_scaled = self.options.how, self.options.scales_loss
        operations = tuple(each.op for each in users)
        self.gradients.append(
            AccumulatedValue(tensors, operations, how, shapes[0], is_scaled=is_scaled)
        )
        return users[0] if len(users) == 1 else tf.IndexedSlices(*users, gradient.dense_shape)


def _gradients(
    helper: Any, ys: Any, xs: Any, grad_ys: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """Record the gradients of a step's model function, whatever computes them."""
    step = current()
    if step is None:
        return helper(ys, xs, grad_ys, *args, **kwargs)
    return step.record(helper, ys, xs, grad_ys, *args, **kwargs)


class _Accumulation:
    """The loops that accumulate the values of a step.

    One loop is enough, unless gradients depend on others, such as those of a second optimizer after the first.
    """

    def __init__(self, step: AccumulatedStep, loss: Any) -> None:
        self._step = step
        self._loss = loss
        gradients = [user for each in step.gradients for user in each.users]
        inputs = [tensor.op for tensor in step.inputs]
        ends = {*_names(gradients), loss.name}

        def following(control: bool) -> set[str]:
            found = walk.descendants(inputs, control, until=lambda each: each.name in ends)
            return _names(found) - step.input_names()

        # What is computed from the examples, and what must also run after it.
        self._data, self._after_data = following(control=False), following(control=True)
        self._after_gradients = _names(walk.descendants(gradients, control=False))

    def run(self, train_op: Any) -> None:
        """Make the loops that a training operation needs."""
        values, edges = self._read_by(train_op)
        while values or edges:
            gradients = [each for each in values if each in self._step.gradients]
            later = _names(walk.descendants(user for each in gradients for user in each.users))
            now = [each for each in values if later.isdisjoint(_names(_operations(each)))]
            edges_now = [edge for edge in edges if edge[1].name not in later]
            self._add_loop(now, edges_now)
            values = [each for each in values if each not in now]
            edges = [edge for edge in edges if edge not in edges_now]

    def _read_by(self, train_op: Any) -> tuple[list[AccumulatedValue], list[tuple[Any, Any]]]:
        """Return the values of the first micro-batch that a step reads, and the control edges from them."""
        read = [each for each in self._step.gradients if self._is_after_data(_operations(each)[0])]
        loss = self._loss.inputs[0]
        if loss.op.name in self._data:
            read.append(AccumulatedValue((loss,), (self._loss,), self._step.options.how, []))
        variables, edges = _variables(self._step.graph), list[tuple[Any, Any]]()
        for operation in walk.ancestors([train_op, self._loss]):
            if not self._is_value(operation):
                controls = operation.control_inputs
                edges += [(operation, each) for each in controls if self._is_value(each)]
                if operation.name in self._data:
                    read.append(_update(operation, variables))
            elif operation == train_op or (
                not operation.outputs and effects.may_write(operation)
            ):
                raise self._refusal(operation)
        return read, edges

    def _is_value(self, operation: Any) -> bool:
        return operation.name in self._data and operation.type not in _ASSIGNMENTS

    def _is_after_data(self, operation: Any) -> bool:
        return operation.name in self._after_data

    def _add_loop(self, values: list[AccumulatedValue], edges: list[tuple[Any, Any]]) -> None:
        controls = list(dict.fromkeys(control for _, control in edges))
        body = self._body([*(each for value in values for each in _operations(value)), *controls])
        values = [*values, *self._summaries(_names(body))]
        copied = Subgraph(body)
        if any("Collective" in each.type or "Nccl" in each.type for each in body):
            raise _between_devices()
        if self._step.exchanges(copied.outside.values()):
            raise _between_devices()
        users = [*(user for each in values for user in each.users), *(each for each, _ in edges)]
        later = _names(walk.descendants(users))
        before = [each for each in copied.before if each.name not in later]
        with tf.name_scope("micro_batches"), tf.control_dependencies(before):
            results, end = self._loop(copied, values, controls)
        for value, tensors in zip(values, results, strict=True):
            for user, tensor in zip(value.users, tensors, strict=True):
                edit.set_input(user, value.position, tensor)
        for operation, control in edges:
            edit.replace_control(operation, control, end)

    def _body(self, wanted: list[Any]) -> list[Any]:
        """Return the operations that follow from the examples and lead to others, which update no variables."""

        def is_repeatable(control: Any) -> bool:
            is_update = effects.may_write(control) or control.name in self._after_gradients
            return self._is_value(control) or not is_update

        def follow(operation: Any) -> Iterator[Any]:
            controls = filter(is_repeatable, operation.control_inputs)
            return filter(self._is_after_data, [*walk.sources(operation, control=False), *controls])

        return walk.in_order(walk.reach(filter(self._is_after_data, wanted), follow))

    def _summaries(self, body: set[str]) -> Iterator[AccumulatedValue]:
        """Iterate over the numbers in summaries that a loop computes anyway."""
        for summary in v1.get_collection(v1.GraphKeys.SUMMARIES):
            if summary.op.type == "ScalarSummary":
                value = summary.op.inputs[1]
                if value.dtype.is_floating and value.op.name in body & self._data:
                    how = self._step.options.how
                    yield AccumulatedValue((value,), (summary.op,), how, value.shape, position=1)

    def _loop(
        self, copied: Subgraph, values: list[AccumulatedValue], controls: list[Any]
    ) -> tuple[list[list[Any]], Any]:
        """Make a loop; return the accumulated values, and an operation that comes after it."""
        step, batch = self._step, self._step.batch
        state = loss_scale.LossScale() if step.options.scales_loss else None
        tensors = [tensor for value in values for tensor in value.tensors]

        def body(index: Any, scale: Any, totals: Any) -> Any:
            here = ops.get_default_graph()
            functions.provide(step.graph, here)
            inputs = step.inputs_of(index, scale[0])
            outside = copied.outside.items()
            inputs |= {name: here.capture(each) for name, each in outside if name not in inputs}
            copies = iter(copied.copy(inputs, [*tensors, *controls], "micro_batch"))
            new = [[next(copies) for _ in value.tensors] for value in values]
            with tf.control_dependencies(list(copies)):
                following, usable = index + 1, None
            if state is not None:
                pairs = zip(values, new, strict=True)
                scaled = [found[0] for value, found in pairs if value.is_scaled]
                usable = loss_scale.is_usable(scale, scaled)
                following = tf.where(usable, following, index)
            factors = batch.share(index), scale[0]
            totals = [
                value.add(total, found, index, factors, usable)
                for value, total, found in zip(values, totals, new, strict=True)
            ]
            scale = scale if usable is None else loss_scale.after_micro_batch(scale, usable)
            return following, scale, totals

        # One micro-batch after another: the memory of one is free before the next begins.
        index, scale, totals = tf.while_loop(
            lambda index, *_: index < batch.count,
            body,
            (
                tf.constant(0),
                tf.constant(loss_scale.UNSCALED) if state is None else state.read(),
                [value.zeros(batch.count) for value in values],
            ),
            parallel_iterations=1,
        )
        with tf.control_dependencies([] if state is None else [state.write(scale)]):
            pairs = zip(values, totals, strict=True)
            results = [list(map(tf.identity, value.result(total))) for value, total in pairs]
        return results, index.op

    def _refusal(self, operation: Any) -> ModelError:
        if self._step.exchanges([operation]):
            return _between_devices()
        return ModelError(
            f"`micro_batches` cannot be used with this model: operation {operation.name!r} ({operation.type}) of its "
            "training step uses the examples otherwise than by a gradient.",
            "Leave `micro_batches` out, or use a smaller batch.",
            argument="micro_batches",
        )


def _update(operation: Any, variables: dict[str, Any]) -> AccumulatedValue:
    handle, value = operation.inputs
    variable = variables.get(handle.op.name)
    aggregation = getattr(variable, "aggregation", tf.VariableAggregation.NONE)
    adds = operation.type != "AssignVariableOp"
    if aggregation == tf.VariableAggregation.MEAN:
        how = "mean"
    elif adds or aggregation == tf.VariableAggregation.SUM:
        how = "sum"
    elif aggregation == tf.VariableAggregation.ONLY_FIRST_REPLICA:
        how = "first"
    else:
        raise ModelError(
            f"`micro_batches` cannot be used with this model: it assigns what it computes from a batch to the "
            f"variable {handle.op.name!r}, which does not say how the values of several parts are joined.",
            "Make the variable with `aggregation = tf$VariableAggregation$MEAN` (or SUM).",
            argument="micro_batches",
        )
    shape = value.shape if variable is None else variable.shape
    return AccumulatedValue((value,), (operation,), how, shape, position=1)


def _variables(graph: Any) -> dict[str, Any]:
    keys = (
        v1.GraphKeys.GLOBAL_VARIABLES,
        v1.GraphKeys.LOCAL_VARIABLES,
        v1.GraphKeys.METRIC_VARIABLES,
    )
    return {
        each.handle.op.name: each
        for key in keys
        for variable in graph.get_collection(key)
        for each in replicated_variables.components(variable)
        if hasattr(each, "handle")
    }


def _between_devices() -> ModelError:
    return ModelError(
        "`micro_batches` cannot be used with this model: it exchanges values between devices (all_reduce, synchronised "
        "batch normalisation) before its loss is known.",
        "Leave `micro_batches` out, or normalise over the examples of one device.",
        argument="micro_batches",
    )


def _identity(leaf: Any) -> Any:
    return tf.identity(leaf) if isinstance(leaf, tf.Tensor) else leaf


def _user(tensor: Any, shape: Any) -> Any:
    with tf.device(tensor.device):
        return v1.placeholder_with_default(tensor, shape)


def _tensors(values: Any) -> list[Any]:
    leaves = tf.nest.flatten(values, expand_composites=True)
    return [leaf for leaf in leaves if isinstance(leaf, tf.Tensor)]


def _operations(value: AccumulatedValue) -> list[Any]:
    return [tensor.op for tensor in value.tensors]


def _names(operations: Iterable[Any]) -> set[str]:
    return {operation.name for operation in operations}
