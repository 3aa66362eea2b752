"""Training steps whose batches all have the same, known size.

A step is built for batches of any size, and computes much from that size: shapes, how gradients are summed over
broadcast dimensions, whether shapes agree. In a loop over full batches these are constants, and so is what holds for
all rows, such as that no value is missing. They are computed once, by the same operations, so the results of a step
stay the same to the bit. Hashes of rows are computed, and their words looked up, once for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.graph import copies, effects, walk
from tfdistribute.engine.many_steps import row_checks as checks
from tfdistribute.engine.many_steps.by_row import Rows
from tfdistribute.engine.many_steps.step_facts import Facts

# Data type and shape of the tensors that a step is given, by name.
Given = Mapping[str, tuple[Any, Sequence[int]]]

# Operations that return the elements of their first input, in order, if the result has as many.
_RESHAPING = frozenset({"Reshape", "ExpandDims", "Squeeze", "Sum", "Tile", "BroadcastTo"})
# Operations that do not change a number if the second one is 1.
_SCALING = frozenset({"Mul", "RealDiv", "DivNoNan"})
# Operations that choose between the elements of their second and third input.
_CHOOSING = frozenset({"Select", "SelectV2"})
# Operations with a state that need not run unless something reads their result.
_READING = frozenset({"ReadVariableOp", "ResourceGather", "VarHandleOp", "LookupTableFindV2"})

# Operations that sum embeddings by row; the number of rows follows from what is summed.
_SEGMENT_SUMS = frozenset({"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"})
# Each round knows the shapes of what the one before has replaced.
_MOST_ROUNDS = 6


def simplified(
    definition: Any, fetches: Sequence[str], given: Given, rows: Rows
) -> tuple[Any, dict[str, Any]]:
    """Replace what is computed from shapes alone, or is the same for all rows, by constants.

    Args:
        definition: The ``GraphDef`` of a step, with the operations that name its resources and its functions.
        fetches: Names of the operations that must stay.
        given: The tensors that the step is given.
        rows: All rows of these tensors.

    Returns:
        A GraphDef of the operations that are left, and arrays that were computed for all rows, by the name of the
        tensor that holds their rows of a batch: the new step is given these tensors, too. The same GraphDef if an
        operation with side effects would be lost.
    """
    kept: dict[str, Any] = {}
    for _ in range(_MOST_ROUNDS):
        now = {**given, **{name: _given(each, _rows_of(given)) for name, each in kept.items()}}
        step = _Step(_imported(definition, now), now, rows, kept)
        made = step.remaining(definition, fetches)
        if made is None:
            break
        is_last = len(made.node) == len(definition.node) and not step.kept
        definition, kept = made, {**kept, **step.kept}
        if is_last:
            break
    read = copies.read_names(definition)
    return definition, {name: each for name, each in kept.items() if name in read}


def _imported(definition: Any, given: Given) -> Any:
    """Return a graph of a step's ``GraphDef``, with placeholders for what the step is given, on any device."""
    placed = copies.choose(definition, {each.name: each.input for each in definition.node})
    for node in placed.node:
        node.device = ""
    with tf.Graph().as_default() as graph:
        inputs = {
            name: tf.compat.v1.placeholder(dtype, shape, _placeholder(index))
            for index, (name, (dtype, shape)) in enumerate(given.items())
        }
        copies.insert(placed, inputs)
    return graph


def _placeholder(index: int) -> str:
    return f"given_{index}"


def _rows_of(given: Given) -> int:
    return next(iter(given.values()))[1][0]


def _given(values: Any, batch: int) -> tuple[Any, Sequence[int]]:
    """Return the type and the shape of a batch of an array of all rows."""
    return tf.dtypes.as_dtype(values.dtype), [batch, *values.shape[1:]]


class _Step:
    """The operations of a step, with what is known about their results."""

    def __init__(self, graph: Any, given: Given, rows: Rows, kept: Mapping[str, Any]) -> None:
        self._given = {f"{_placeholder(index)}:0": name for index, name in enumerate(given)}
        self._operations = {each.name: each for each in graph.get_operations()}
        affected = self._with_effects()
        others = [each for name, each in self._operations.items() if name not in affected]
        self._facts = Facts(others, self._given, _rows_of(given), rows, kept)
        self._values, self.kept = self._facts.values, self._facts.kept
        self._adds_to_layers = any(map(_adds_to_layer, self._operations.values()))
        self.constants: dict[str, Any] = {}

    def remaining(self, definition: Any, fetches: Sequence[str]) -> Any:
        """Return a GraphDef of what is left; None if an operation with side effects would be lost."""
        names = {node.name for node in definition.node}
        given = set(self._given.values())
        inputs: dict[str, list[str]] = {}

        def follow(name: str) -> list[str]:
            inputs[name] = self.inputs(name)
            read = (each for each in inputs[name] if each not in given)
            return [each for each in map(copies.node_name, read) if each in names]

        kept = set(walk.reach(fetches, follow))
        made = copies.choose(definition, inputs)
        for node in made.node:
            self._count_segments(node)
        for name, value in self.constants.items():
            _add_constant(made, name, value)
        return made if self.needed() <= kept else None

    def inputs(self, name: str) -> list[str]:
        """Return the inputs that an operation needs, as in a GraphDef."""
        operation = self._operations[name]
        tensors = [self._source(tensor) for tensor in operation.inputs]
        return tensors + sorted(f"^{name}" for name in self._facts.waits_for(operation))

    def _count_segments(self, node: Any) -> None:
        """Let an operation say how many rows it sums to, so that the shapes of what follows are known."""
        if node.op not in _SEGMENT_SUMS or self._adds_to_layers:
            return
        places = self._values.get(self._operations[node.name].inputs[2].name)
        if places is None or not np.size(places):
            return
        node.op += "WithNumSegments"
        node.attr["Tnumsegments"].type = tf.int32.as_datatype_enum
        name = f"{node.name}/segments"
        self.constants[name] = np.array(places[-1] + 1, np.int32)
        data = [each for each in node.input if not each.startswith("^")]
        controls = [each for each in node.input if each.startswith("^")]
        del node.input[:]
        node.input.extend([*data, f"{name}:0", *controls])

    def needed(self) -> set[str]:
        """Return the names of operations with side effects."""
        return {
            name
            for name, operation in self._operations.items()
            if name not in self._facts.passing
            and (_has_effect(operation) or checks.only_checks(operation))
        }

    def _with_effects(self) -> set[str]:
        """Return the names of operations that change something, and of those that must run after one."""
        found = set[str]()
        for name, operation in self._operations.items():
            before = (each.name for each in walk.sources(operation))
            if _has_effect(operation) or not found.isdisjoint(before):
                found.add(name)
        return found

    def _source(self, tensor: Any) -> str:
        """Return the name of a tensor with the same value that needs fewer operations."""
        while True:
            name = tensor.name
            if name in self._given:
                return self._given[name]
            if name in self._values:
                return self._constant(tensor)
            same = self._same(tensor)
            if same is None or self._facts.waits_for(tensor.op):
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
        same = self._facts.same_elements(tensor)
        if same is not None:
            return same
        if operation.type in _CHOOSING:
            return self._chosen(operation)
        if operation.type in _RESHAPING:
            return _reshaped(tensor)
        if operation.type in ("Unique", "UnsortedSegmentSum"):
            return self._already_unique(tensor)
        return operation.inputs[0] if self._changes_nothing(operation) else None

    def _changes_nothing(self, operation: Any) -> bool:
        """Return whether the result of an operation is its first input."""
        if operation.type == "Identity":
            return True
        factor = (
            3 if operation.type == "StridedSlice" else 1 if operation.type in _SCALING else None
        )
        if factor is None or not _same_shape(operation.inputs[0], operation.outputs[0]):
            return False
        return self._is_one(operation.inputs[factor])

    def _chosen(self, operation: Any) -> Any:
        """Return the input of which all elements are chosen, if there is one."""
        condition, *inputs = operation.inputs
        value = self._values.get(condition.name)
        if value is None or not np.size(value) or np.min(value) != np.max(value):
            return None
        chosen = inputs[0] if np.all(value) else inputs[1]
        return chosen if _same_shape(chosen, operation.outputs[0]) else None

    def _already_unique(self, tensor: Any) -> Any:
        """Return what is left of a search for equal indices among unique ones, and of sums over these."""
        values, *others = tensor.op.inputs
        if tensor.op.type == "UnsortedSegmentSum":
            places, count = others
            again = places.op.type == "Unique" and places.value_index == 1
            if not again or not self._is_unique(places.op.inputs[0]):
                return None
            # More sums than values would end with zeros.
            return values if self._counts(count, places.op.inputs[0]) else None
        return values if tensor.value_index == 0 and self._is_unique(values) else None

    def _is_unique(self, tensor: Any) -> bool:
        """Return whether a tensor holds no value twice."""
        tensor = self._first(tensor)
        return tensor.op.type == "Unique" and tensor.value_index == 0

    def _counts(self, count: Any, values: Any) -> bool:
        """Return whether a number is that of the elements of a vector."""
        count = walk.behind(count, ("Identity", "StridedSlice"))
        counted = count.op.type in ("Shape", "Size") and self._first(count.op.inputs[0])
        return counted is not False and counted.name == self._first(values).name

    def _first(self, tensor: Any) -> Any:
        """Return the first tensor that is equal to another one."""
        while (same := self._same(tensor)) is not None:
            tensor = same
        return tensor

    def _is_one(self, tensor: Any) -> bool:
        value = self._values.get(tensor.name)
        return value is not None and bool(np.all(value == 1))


def _has_effect(operation: Any) -> bool:
    if operation.type in _READING or not (operation.inputs or operation.control_inputs):
        return False
    return effects.is_stateful(operation) and not checks.only_checks(operation)


def _adds_to_layer(operation: Any) -> bool:
    """Return whether an operation adds something to a layer, as wide-and-deep models do.

    TensorFlow makes one operation of both if it knows that their shapes are equal, which rounds differently.
    """
    if operation.type not in ("Add", "AddV2", "AddN"):
        return False
    layers = (each.op for each in operation.inputs if each.op.type == "BiasAdd")
    return any(each.inputs[0].op.type == "MatMul" for each in layers)


def _same_shape(one: Any, other: Any) -> bool:
    return one.shape.is_fully_defined() and one.shape == other.shape


def _same_but_one(one: Any, other: Any) -> bool:
    """Return whether tensors of as many elements have one shape: at most one size, in one place, is not known."""
    if one.shape.rank is None or one.shape.rank != other.shape.rank:
        return False
    pairs = list(zip(one.shape.as_list(), other.shape.as_list(), strict=True))
    different = [pair for pair in pairs if None in pair or pair[0] != pair[1]]
    return len(different) <= 1 and all(None in pair for pair in different)


def _reshaped(tensor: Any) -> Any:
    """Return the tensor of the same shape of which this one has the elements, if there is one."""
    if tensor.op.type == "Reshape" and _same_but_one(tensor.op.inputs[0], tensor):
        return tensor.op.inputs[0]
    for after, before in pairwise(walk.chain(tensor, _RESHAPING)):
        if not _as_many(before, after):
            return None
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
