"""Rules of which operations compute each row of their result from the same row of their inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tfdistribute.engine.many_steps import one_operation
from tfdistribute.engine.many_steps.by_row import ByRow, Known
from tfdistribute.engine.many_steps.vocabularies import Vocabulary

# Operations that compute each element of the result from the same element of their inputs.
_ELEMENTWISE = frozenset(
    {
        *("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "IsNan", "IsFinite"),
        *("LogicalAnd", "LogicalOr", "LogicalNot", "Abs", "Neg", "Add", "AddV2", "Sub", "Mul"),
        *("Floor", "Round", "FloorMod", "FloorDiv", "Maximum", "Minimum", "Cast", "Bucketize"),
        *("AsString", "StringToHashBucketFast", "StringToHashBucketStrong", "StringToHashBucket"),
    }
)
# Hash functions and lookups, which take most of the time of a step that has them.
HASHING = frozenset(
    {
        *("StringToHashBucketFast", "StringToHashBucketStrong", "StringToHashBucket"),
        *("SparseCross", "LookupTableFindV2"),
    }
)

# Operations from the rows to a result: each result computes all of them.
_MOST_OPERATIONS = 64


# By index of the output: a tensor by row, or a constant of a batch.
Results = Mapping[int, "ByRow | Known"]


class _Call(NamedTuple):
    operation: Any
    inputs: Sequence[Any]
    # Rows of a batch, for which the constants among the inputs hold.
    batch: int

    @property
    def only_first_by_row(self) -> bool:
        first, *others = self.inputs
        return isinstance(first, ByRow) and not any(isinstance(each, ByRow) for each in others)


def results(operation: Any, inputs: Sequence[ByRow | Known], batch: int) -> Results:
    """Return what is known of the outputs of an operation, by index.

    Args:
        operation: An operation without state.
        inputs: What is known of its inputs, at least one of them by row.
        batch: Rows of a batch.
    """
    rows = [each for each in inputs if isinstance(each, ByRow)]
    operations = 1 + sum(each.operations for each in rows)
    rule = _elementwise if operation.type in _ELEMENTWISE else _RULES.get(operation.type)
    if rule is None or operations > _MOST_OPERATIONS or len({each.replica for each in rows}) > 1:
        return {}
    return {
        index: replace(each, operations=operations) if isinstance(each, ByRow) else each
        for index, each in rule(_Call(operation, inputs, batch)).items()
    }


def _elementwise(call: _Call) -> Results:
    # Those of fewer dimensions are constants, the same for all rows.
    rank = max(_rank(each) for each in call.inputs)
    for each in call.inputs:
        by_row = isinstance(each, ByRow)
        if _rank(each) < rank if by_row else _rank(each) == rank and each.shape[0] != 1:
            return {}
    shapes = [
        each.shape if isinstance(each, ByRow) or _rank(each) < rank else each.shape[1:]
        for each in call.inputs
    ]

    def computed(inputs: Sequence[Any]) -> Any:
        return one_operation.compute(call.operation, inputs)[0]

    def values(rows: slice) -> Any:
        return computed(_values(call.inputs, rows))

    tables = [each.table if isinstance(each, ByRow) else each for each in call.inputs]
    first = next(each for each in call.inputs if isinstance(each, ByRow))
    alone = sum(_rank(each) > 0 for each in call.inputs) == 1
    if alone and first.table is not None and first.codes is not None and first.table.ndim == 1:
        return {0: ByRow.of_table(computed(tables), first.codes)}
    return {0: _derived(np.broadcast_shapes(*shapes), call.inputs, values)}


def _rank(each: Any) -> int:
    return len(each.shape) + isinstance(each, ByRow)


def _unchanged(call: _Call) -> Results:
    return {0: _same_elements(call.inputs[0], call.inputs[0].shape)}


def _reshaped(call: _Call) -> Results:
    if not call.only_first_by_row:
        return {}
    given, *others = call.inputs
    example = np.empty((call.batch, *given.shape), np.bool_)
    if call.operation.type == "Reshape":
        shape = np.reshape(example, others[0]).shape
    elif call.operation.type == "ExpandDims":
        shape = np.expand_dims(example, int(others[0])).shape
    else:
        axes = tuple(call.operation.get_attr("squeeze_dims"))
        shape = np.squeeze(example, axes or None).shape
    same_rows = bool(shape) and shape[0] == call.batch
    return {0: _same_elements(given, shape[1:])} if same_rows else {}


def _sliced(call: _Call) -> Results:
    if not call.only_first_by_row:
        return {}
    given, *others = call.inputs
    index = _index(call.operation, *others)
    shape: tuple[int, ...] = ()
    for count in (call.batch, call.batch + 1):
        numbers = np.arange(count).reshape(count, *[1] * len(given.shape))
        example = np.broadcast_to(numbers, (count, *given.shape))[index]
        shape = example.shape[1:]
        # All rows, and in their order.
        if example.ndim == 0 or len(example) != count or 0 in shape:
            return {}
        if not np.array_equal(example.reshape(count, -1)[:, 0], np.arange(count)):
            return {}
    if np.all(others[2] == 1) and math.prod(shape) == given.width:
        return {0: _same_elements(given, shape)}
    return {0: _derived(shape, call.inputs, lambda rows: given.values(rows)[index])}


def _index(operation: Any, begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
    """Return the index of NumPy that a ``StridedSlice`` stands for."""
    masks = {
        name: operation.get_attr(f"{name}_mask")
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    index: list[Any] = []
    for place, (first, after, stride) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << place
        if masks["ellipsis"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis"] & bit:
            index.append(None)
        elif masks["shrink_axis"] & bit:
            index.append(int(first))
        else:
            from_here = None if masks["begin"] & bit else int(first)
            to_here = None if masks["end"] & bit else int(after)
            index.append(slice(from_here, to_here, int(stride)))
    return tuple(index)


def _unstacked(call: _Call) -> Results:
    (given,) = call.inputs
    last = len(given.shape)
    if (
        not isinstance(given, ByRow)
        or not last
        or call.operation.get_attr("axis") not in (-1, last)
    ):
        return {}

    def column(place: int) -> ByRow:
        return _derived(given.shape[:-1], call.inputs, lambda rows: given.values(rows)[..., place])

    return {place: column(place) for place in range(len(call.operation.outputs))}


def _gathered(call: _Call) -> Results:
    given, places, axis = call.inputs
    if isinstance(axis, ByRow) or int(axis) != 0 or call.operation.get_attr("batch_dims"):
        return {}
    if call.only_first_by_row:
        # The rows of a batch, in their order.
        all_rows = np.array_equal(places, np.arange(call.batch))
        return _unchanged(call) if all_rows else {}
    if isinstance(given, ByRow) or not isinstance(places, ByRow):
        return {}
    return {0: ByRow.of_table(given, places)}


def _gathered_single(call: _Call) -> Results:
    given, places = call.inputs
    if not call.only_first_by_row or given.width != 1:
        return {}
    one_each = np.array_equal(places, _places(call.batch, _rank(given)))
    return {0: _same_elements(given, ())} if one_each else {}


def _places(rows: int, rank: int) -> Known:
    """Return the places of the elements of a tensor with one element in each row."""
    return np.stack([np.arange(rows), *[np.zeros(rows, np.int64)] * (rank - 1)], axis=1)


def _filled(call: _Call) -> Results:
    """One value in each row, so that none is empty."""
    places, values, shape, _ = call.inputs
    if not isinstance(values, ByRow) or isinstance(places, ByRow) or isinstance(shape, ByRow):
        return {}
    one_each = np.array_equal(places, _places(call.batch, 2))
    if values.shape or shape[0] != call.batch or not one_each:
        return {}
    none_empty = np.zeros(call.batch, np.bool_)
    return {0: places, 1: _same_elements(values, ()), 2: none_empty, 3: np.arange(call.batch)}


def _crossed(call: _Call) -> Results:
    """Crosses of columns with one value in each row."""
    columns = call.operation.get_attr("N")
    places, values, shapes = (
        call.inputs[first : first + columns] for first in range(0, 3 * columns, columns)
    )
    one_each = (_places(call.batch, 2), (call.batch, 1))
    if len(call.inputs) > 3 * columns or not all(isinstance(each, ByRow) for each in values):
        return {}
    for place, value, shape in zip(places, values, shapes, strict=True):
        if isinstance(place, ByRow) or isinstance(shape, ByRow) or value.shape:
            return {}
        if not np.array_equal(place, one_each[0]) or not np.array_equal(shape, one_each[1]):
            return {}

    def crossed(rows: slice) -> Any:
        found = _values(values, rows)
        count = len(found[0])
        given = [_places(count, 2)] * columns + found + [np.array([count, 1])] * columns
        return one_operation.compute(call.operation, given)[1]

    return {0: one_each[0], 1: _derived((), values, crossed), 2: np.array(one_each[1])}


def _looked_up(call: _Call) -> Results:
    vocabulary, words, default = call.inputs
    if not isinstance(vocabulary, Vocabulary) or not isinstance(words, ByRow):
        return {}
    if words.table is not None and words.codes is not None and words.table.ndim == 1:
        return {0: ByRow.of_table(vocabulary.find(words.table, default), words.codes)}

    def found(rows: slice) -> Any:
        return vocabulary.find(words.values(rows), default)

    return {0: _derived(words.shape, [words], found)}


def _values(inputs: Sequence[Any], rows: slice) -> list[Any]:
    return [each.values(rows) if isinstance(each, ByRow) else each for each in inputs]


def _derived(
    shape: Sequence[int],
    inputs: Sequence[Any],
    values: Callable[[slice], Any],
    elements: Any = None,
) -> ByRow:
    replica = next(each.replica for each in inputs if isinstance(each, ByRow))
    return ByRow(tuple(shape), replica, elements or object(), values)


def _same_elements(given: Any, shape: Sequence[int]) -> ByRow:
    if given.table is not None and given.table.ndim == 1:
        return replace(
            ByRow.of_table(given.table, _same_elements(given.codes, shape)), elements=given.elements
        )

    def values(rows: slice) -> Any:
        found = given.values(rows)
        return found.reshape((len(found), *shape))

    return _derived(shape, [given], values, given.elements)


_RULES: Mapping[str, Callable[[_Call], Results]] = {
    "Identity": _unchanged,
    "Reshape": _reshaped,
    "ExpandDims": _reshaped,
    "Squeeze": _reshaped,
    "StridedSlice": _sliced,
    "Unpack": _unstacked,
    "GatherV2": _gathered,
    "GatherNd": _gathered_single,
    "SparseFillEmptyRows": _filled,
    "SparseCross": _crossed,
    "LookupTableFindV2": _looked_up,
}
