"""Rewiring of a training step: what reads values of the first part reads those of all parts instead."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import edit, walk
from tfdistribute.engine.graph.copies import Subgraph
from tfdistribute.engine.micro_batches.turns import Inputs, Loop, Wanted
from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.engine.tpu.program import PROGRAM_MARKS
from tfdistribute.errors import ModelError

v1 = tf.compat.v1

_ASSIGNMENTS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
# Loops of the old kind.
_OLD_LOOPS = ("Enter", "RefEnter")
# Checks, which conditions hold, messages and functions of Python: they run in each turn.
_EFFECTS = ("Assert", "CheckNumerics", "CheckNumericsV2", "If", "Print", "PrintV2")
_EFFECTS += ("EagerPyFunc", "PyFunc", "PyFuncStateless")


class Rewiring:
    """Replaces values of the first part by those of the whole batch.

    Args:
        graph: The graph.
        inputs: What differs between turns.
        gradients: The gradients that the model function has asked for.
    """

    def __init__(self, graph: Any, inputs: Inputs, gradients: Sequence[Wanted]) -> None:
        self._graph = graph
        self._inputs = inputs
        self._gradients = gradients
        self._joints = {each.user.name for each in gradients}
        begin = [tensor.op for tensor in inputs.tensors()]
        # What follows from the examples, and what must also run after it.
        self._data = _following(begin, self._joints, control=False)
        self._after_data = _following(begin, self._joints, control=True)
        joints = [each.user for each in gradients]
        self._after_gradients = _following(joints, set(), control=True)
        self._updates: dict[str, Any] = {}
        self._effects: dict[str, Any] = {}
        self._edges: list[tuple[Any, Any]] = []

    def finish(self, train_op: Any, loss: Any) -> Any:
        """Make the loops that the training operation needs; return the loss of the whole batch."""
        self._walk(getattr(train_op, "op", train_op))
        levels = self._levels()
        groups = [
            [each for each in self._gradients if levels[each.call] == level]
            for level in sorted(set(levels.values()))
        ] or [[]]
        groups = [[each for each in group if self._follows(each)] for group in groups]
        extras = [self._update(each) for each in self._updates.values()]
        how = "sum" if self._inputs.sums_loss else "mean"
        if loss.op.name in self._data:
            extras.insert(0, Wanted(loss, how, loss.shape, None))
        bodies = [self._body(group, ()) for group in groups]
        extras += self._summaries(bodies, how)
        for number, group in enumerate(groups):
            later = {each.user.name for each in itertools.chain(*groups[number:])}
            own = [each for each in extras if _host(bodies, each.tensor.op) == number]
            effects = [each for each in self._effects.values() if _host(bodies, each) == number]
            loss = self._make([*group, *own], effects, loss, later)
        return loss

    def _follows(self, each: Wanted) -> bool:
        return each.tensor.op.name in self._after_data

    def _make(
        self, wanted: list[Wanted], effects: list[Any], loss: Any, later: Collection[str]
    ) -> Any:
        if not wanted and not effects:
            return loss
        operations = self._body(wanted, effects)
        self._check(operations)
        copied = Subgraph(list(operations.values()), PROGRAM_MARKS)
        self._check_outside(copied, later)
        before = [each for each in copied.before if each.name not in self._data]
        with tf.name_scope("micro_batches"), tf.control_dependencies(before):
            results, after = Loop(self._inputs, copied, wanted, effects).run()
        for each, result in zip(wanted, results, strict=True):
            if each.user is None:
                loss = tf.reshape(result, loss.shape) if loss.shape.rank is not None else result
            else:
                edit.set_input(each.user, each.position, result)
        names = {effect.name for effect in effects}
        for operation, control in self._edges:
            edit.replace_control(operation, control, after if control.name in names else None)
        self._edges = [(one, control) for one, control in self._edges if control.name not in names]
        return loss

    def _walk(self, train_op: Any) -> None:
        """Find updates and checks of values of the first part, and what waits for its other operations."""
        for operation in walk.reach([train_op], self._outside):
            edges = [(operation, each) for each in operation.control_inputs if self._is_value(each)]
            self._edges += edges
            for _, control in edges:
                self._note_effect(control)
            if operation.name not in self._joints and operation.name in self._data:
                if operation.type not in _ASSIGNMENTS:
                    raise self._refusal(operation)
                self._updates[operation.name] = operation

    def _outside(self, operation: Any) -> list[Any]:
        """Return what an operation needs besides values of the first part."""
        controls = [each for each in operation.control_inputs if not self._is_value(each)]
        if operation.name in self._joints:
            return controls
        needed = walk.sources(operation, control=False)
        return [*controls, *(needed[:1] if self._is_update(operation) else needed)]

    def _is_value(self, operation: Any) -> bool:
        return operation.name in self._data and operation.type not in _ASSIGNMENTS

    def _note_effect(self, control: Any) -> None:
        """Keep what others wait for if it is more than a value."""
        data = self._data
        for operation in walk.ancestors([control], False, lambda each: each.name not in data):
            if operation.type in _EFFECTS:
                self._effects[control.name] = control
            elif not operation.outputs:
                raise self._refusal(operation)

    def _update(self, operation: Any) -> Wanted:
        handle, value = operation.inputs
        variable = _variables(self._graph).get(handle.op.name)
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
        return Wanted(value, how, shape, operation, position=1)

    def _summaries(self, bodies: list[dict[str, Any]], how: str) -> list[Wanted]:
        """Return the numbers in summaries that the loops compute anyway, such as the loss."""
        found: list[Wanted] = []
        for summary in v1.get_collection(v1.GraphKeys.SUMMARIES):
            operation = summary.op
            if operation.type != "ScalarSummary" or operation.name not in self._data:
                continue
            value = operation.inputs[1]
            if value.dtype.is_floating and any(value.op.name in body for body in bodies):
                found.append(Wanted(value, how, value.shape, operation, position=1))
        return found

    def _levels(self) -> dict[int, int]:
        """Order requests for gradients: those after others, such as of a second optimizer, need a loop of their own."""
        levels: dict[int, int] = {}
        for call in dict.fromkeys(each.call for each in self._gradients):
            own = [each.tensor.op for each in self._gradients if each.call == call]
            reached = {each.name for each in self._before(own)}
            earlier = {each.call for each in self._gradients if each.user.name in reached}
            levels[call] = 1 + max((levels[each] for each in earlier if each in levels), default=0)
        return levels

    def _before(self, operations: Iterable[Any]) -> Iterator[Any]:
        """Iterate over operations and everything before them, except updates by values of the first part."""
        return walk.reach(operations, self._needed)

    def _needed(self, operation: Any, without: Collection[str] = ()) -> list[Any]:
        controls = (each for each in operation.control_inputs if not self._is_update(each))
        return [
            *walk.sources(operation, control=False),
            *(each for each in controls if each.name not in without),
        ]

    def _is_update(self, operation: Any) -> bool:
        return operation.name in self._data and operation.type in _ASSIGNMENTS

    def _body(self, wanted: Collection[Wanted], effects: Collection[Any]) -> dict[str, Any]:
        """Return the operations that follow from the examples and lead to these values, by name."""

        def inside(operations: Iterable[Any]) -> list[Any]:
            return [each for each in operations if each.name in self._after_data]

        found = walk.reach(
            inside([*(each.tensor.op for each in wanted), *effects]),
            lambda each: inside(self._needed(each, self._after_gradients)),
        )
        return {each.name: each for each in walk.in_order(found)}

    def _check(self, body: dict[str, Any]) -> None:
        for operation in body.values():
            if operation.type in _OLD_LOOPS:
                raise _refusal(operation, "is part of a loop of the old kind")
            if "Collective" in operation.type or "Nccl" in operation.type:
                raise _between_devices()

    def _check_outside(self, copied: Subgraph, later: Collection[str]) -> None:
        taken = list(self._before([tensor.op for tensor in copied.outside.values()]))
        if any(each.name in later for each in taken):
            raise ModelError(
                "`micro_batches` cannot be used with this model: its loss is computed from gradients of its weights.",
                "Leave `micro_batches` out, or split the batch in the model.",
                argument="micro_batches",
            )
        self._check_exchange(taken)

    def _refusal(self, operation: Any) -> ModelError:
        self._check_exchange(self._before([operation]))
        return _refusal(operation, "uses the examples otherwise than by a gradient")

    def _check_exchange(self, operations: Iterable[Any]) -> None:
        """Check that operations do not depend on another replica's examples."""
        others = self._inputs.of_other_replicas()
        # Of a replica that is still to come there is a placeholder.
        if any(each.type == "Placeholder" or each.name in others for each in operations):
            raise _between_devices()


def _following(begin: Sequence[Any], end: Collection[str], control: bool) -> set[str]:
    """Return the names of operations that follow from others, which are left out."""
    found = walk.descendants(begin, control, until=lambda each: each.name in end)
    return {each.name for each in found} - {each.name for each in begin}


def _host(bodies: Sequence[Collection[str]], operation: Any) -> int:
    """Return the first loop that computes an operation anyway, or the last."""
    found = (number for number, body in enumerate(bodies) if operation.name in body)
    return next(found, len(bodies) - 1)


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


def _refusal(operation: Any, reason: str) -> ModelError:
    return ModelError(
        f"`micro_batches` cannot be used with this model: operation {operation.name!r} ({operation.type}) of its "
        f"training step {reason}.",
        "Leave `micro_batches` out, or use a smaller batch.",
        argument="micro_batches",
    )


def _between_devices() -> ModelError:
    return ModelError(
        "`micro_batches` cannot be used with this model: it exchanges values between devices (all_reduce, synchronised "
        "batch normalisation) before its loss is known.",
        "Leave `micro_batches` out, or normalise over the examples of one device.",
        argument="micro_batches",
    )
