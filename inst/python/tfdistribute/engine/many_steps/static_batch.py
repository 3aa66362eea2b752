"""Training steps whose batches all have the same, known size.

A step is built for batches of any size, and computes much from that size: shapes, how gradients are summed over
broadcast dimensions, whether shapes agree. In a loop over full batches these are constants. They are computed once, by
the same operations, so the results of a step stay the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.many_steps import row_checks as checks
from tfdistribute.engine.many_steps import step_graph
from tfdistribute.engine.many_steps.step_graph import Given

v1 = tf.compat.v1

# Operations whose results depend on the shape of their input only.
_OF_SHAPE = frozenset({"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"})
# Operations that return the elements of their first input, in order, if the result has as many.
_RESHAPING = frozenset({"Reshape", "ExpandDims", "Squeeze", "Sum", "Tile", "BroadcastTo"})
# Operations that do not change a number if the second one is 1.
_SCALING = frozenset({"Mul", "RealDiv", "DivNoNan"})
# Operations with a state that need not run unless something reads their result.
_READING = frozenset({"ReadVariableOp", "VarHandleOp"})

# A larger constant would take more memory than computing it takes time.
_MOST_VALUES = 2**16


def simplified(
    definition: Any, fetches: Sequence[str], given: Given, passing: frozenset[str]
) -> Any:
    """Replace what is computed from shapes alone by constants.

    Args:
        definition: The ``GraphDef`` of a step, with the operations that name its resources and its functions.
        fetches: Names of the operations that must stay.
        given: The tensors that the step is given.
        passing: Names of checks that need not run.

    Returns:
        A GraphDef of the operations that are left; the same one if an operation with side effects would be lost.
    """
    # The shapes of sums are known only when the dimensions that they add up are.
    return _simplified(_simplified(definition, fetches, given, passing), fetches, given, passing)


def _simplified(
    definition: Any, fetches: Sequence[str], given: Given, passing: frozenset[str]
) -> Any:
    step = _Step(step_graph.imported(definition, given), given, passing)
    made = v1.GraphDef(versions=definition.versions, library=definition.library)
    nodes = {node.name: node for node in definition.node}
    waiting, kept = list(fetches), set[str]()
    while waiting:
        name = waiting.pop()
        if name in kept or name not in nodes:
            continue
        kept.add(name)
        node = made.node.add()
        node.CopyFrom(nodes[name])
        del node.input[:]
        node.input.extend(step.inputs(name))
        waiting += [each.lstrip("^").partition(":")[0] for each in node.input]
    for name, value in step.constants.items():
        _add_constant(made, name, value)
    return made if step.needed() <= kept else definition


class _Step:
    """The operations of a step, with what is known about their results."""

    def __init__(self, graph: Any, given: Given, passing: frozenset[str]) -> None:
        self._graph = graph
        self._given = step_graph.names_of(given)
        self._operations = {each.name: each for each in graph.get_operations()}
        self._effects = self._with_effects()
        # By the name of the tensor.
        self._values = self._known_values()
        self._passing = passing | frozenset(self._passing_checks())
        self.constants: dict[str, Any] = {}

    def inputs(self, name: str) -> list[str]:
        """Return the inputs that an operation needs, as in a GraphDef."""
        operation = self._operations[name]
        tensors = [self._source(tensor) for tensor in operation.inputs]
        return tensors + sorted(self._controls(operation))

    def needed(self) -> set[str]:
        """Return the names of operations with side effects."""
        return {
            name
            for name, operation in self._operations.items()
            if name not in self._passing
            and (_has_effect(operation) or checks.only_checks(operation))
        }

    def _with_effects(self) -> set[str]:
        """Return the names of operations that change something, and of those that must run after one."""
        found = set[str]()
        for name, operation in self._operations.items():
            before = [*operation.control_inputs, *(each.op for each in operation.inputs)]
            if _has_effect(operation) or any(each.name in found for each in before):
                found.add(name)
        return found

    def _known_values(self) -> dict[str, Any]:
        """Compute the tensors that depend on nothing but shapes and constants, where others read them."""
        known, sizes = dict[str, Any](), dict[str, Any]()
        for name, operation in self._operations.items():
            if name in self._effects:
                continue
            of_shape = _of_shape(operation)
            if of_shape is not None:
                sizes.update(zip((each.name for each in operation.outputs), of_shape, strict=True))
            if of_shape is not None or _is_known(operation, known):
                known.update((tensor.name, tensor.op) for tensor in operation.outputs)
        self._known = {operation.name for operation in known.values()}
        read = {
            tensor.name
            for name, operation in self._operations.items()
            if name not in self._known
            for tensor in operation.inputs
            if tensor.name in known
        }
        others = {each.name: each for name, each in known.items() if name not in sizes}
        graph = step_graph.imported_alone(others.values(), sizes)
        computed = step_graph.compute(graph, read - sizes.keys(), sizes)
        return {**computed, **{name: sizes[name] for name in read & sizes.keys()}}

    def _passing_checks(self) -> Iterator[str]:
        for name, operation in self._operations.items():
            if checks.only_checks(operation):
                passes = self._values.get(operation.inputs[0].name)
                if passes is not None and bool(np.all(passes)):
                    yield name

    def _source(self, tensor: Any) -> str:
        """Return the name of a tensor with the same value that needs fewer operations."""
        while True:
            name = tensor.name
            if name in self._given:
                return self._given[name]
            if name in self._values:
                return self._constant(tensor)
            same = self._same(tensor)
            if same is None or self._controls(tensor.op):
                return name
            tensor = same

    def _constant(self, tensor: Any) -> str:
        if tensor.op.type == "Const" and not tensor.op.control_inputs:
            return tensor.name
        name = f"{tensor.op.name}/known_{tensor.value_index}"
        self.constants[name] = self._values[tensor.name]
        return f"{name}:0"

    def _same(self, tensor: Any) -> Any:
        """Return an input of a tensor's operation that is equal to it, if there is one."""
        operation = tensor.op
        if operation.type == "Identity":
            return operation.inputs[0]
        if operation.type in _RESHAPING:
            return _reshaped(tensor)
        first = operation.inputs[0] if operation.inputs else None
        if first is None or not _same_shape(first, tensor):
            return None
        if operation.type == "StridedSlice":
            return first if self._is_one(operation.inputs[3]) else None
        if operation.type in _SCALING:
            return first if self._is_one(operation.inputs[1]) else None
        return None

    def _is_one(self, tensor: Any) -> bool:
        value = self._values.get(tensor.name)
        return value is not None and bool(np.all(value == 1))

    def _controls(self, operation: Any) -> set[str]:
        found = set[str]()
        waiting, seen = list(operation.control_inputs), set[str]()
        while waiting:
            before = waiting.pop()
            if before.name in seen or before.name in self._passing:
                continue
            seen.add(before.name)
            if before.name in self._known:
                continue
            if before.type in ("NoOp", "Identity"):
                waiting += [*before.control_inputs, *(each.op for each in before.inputs)]
            else:
                found.add(f"^{before.name}")
        return found


def _has_effect(operation: Any) -> bool:
    if operation.type in _READING or not (operation.inputs or operation.control_inputs):
        return False
    return operation.op_def.is_stateful and not checks.only_checks(operation)


def _of_shape(operation: Any) -> list[Any] | None:
    """Return what an operation computes from the shapes of its inputs; None if there is more to know."""
    if operation.type not in _OF_SHAPE:
        return None
    if not all(tensor.shape.is_fully_defined() for tensor in operation.inputs):
        return None
    shapes = [tensor.shape.as_list() for tensor in operation.inputs]
    output = operation.outputs[0]
    # Zeros and ones may also be lists of tensors, which NumPy does not have.
    if not (output.dtype.is_floating or output.dtype.is_integer):
        return None
    dtype = output.dtype.as_numpy_dtype
    if operation.type in ("Shape", "ShapeN"):
        return [np.array(shape, dtype) for shape in shapes]
    if operation.type == "Size":
        return [np.array(math.prod(shapes[0]), dtype)]
    if operation.type == "Rank":
        return [np.array(len(shapes[0]), dtype)]
    if math.prod(shapes[0]) > _MOST_VALUES:
        return None
    return [np.full(shapes[0], operation.type == "OnesLike", dtype)]


def _is_known(operation: Any, known: Mapping[str, Any]) -> bool:
    if operation.op_def.is_stateful or _calls_function(operation) or not operation.outputs:
        return False
    if not all(_can_be_constant(output) for output in operation.outputs):
        return False
    if operation.type == "Const":
        return True
    return bool(operation.inputs) and all(tensor.name in known for tensor in operation.inputs)


def _can_be_constant(tensor: Any) -> bool:
    if tensor.dtype in (tf.resource, tf.variant):
        return False
    # The number of dimensions to reduce is known only with their values.
    size = tensor.shape.num_elements()
    return tensor.op.type == "BroadcastGradientArgs" or (size is not None and size <= _MOST_VALUES)


def _calls_function(operation: Any) -> bool:
    attributes = operation.node_def.attr.values()
    return any(each.HasField("func") or each.list.func for each in attributes)


def _same_shape(one: Any, other: Any) -> bool:
    return one.shape.is_fully_defined() and one.shape == other.shape


def _reshaped(tensor: Any) -> Any:
    """Return the tensor of the same shape of which this one has the elements, if there is one."""
    before = tensor
    while before.op.type in _RESHAPING:
        first = before.op.inputs[0]
        if not _as_many(first, before):
            return None
        before = first
        if _same_shape(before, tensor):
            return before
    return None


def _as_many(one: Any, other: Any) -> bool:
    sizes = one.shape.num_elements(), other.shape.num_elements()
    return sizes[0] is not None and sizes[0] == sizes[1]


def _add_constant(definition: Any, name: str, value: Any) -> None:
    tensor = tf.make_tensor_proto(value)
    node = definition.node.add(name=name, op="Const")
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)
