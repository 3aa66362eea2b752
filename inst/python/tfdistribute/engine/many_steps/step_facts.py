"""Facts about the results of a step that are known before it runs, from a full batch's shapes and from all rows."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.graph import effects, walk
from tfdistribute.engine.many_steps import by_row, one_operation, row_checks, row_rules
from tfdistribute.engine.many_steps.by_row import ByRow, Rows

# Operations whose results depend on the shape of their input only.
_OF_SHAPE = frozenset({"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"})
# Operations whose results may be much larger than their inputs.
_GROWING = frozenset({"Fill", "Tile", "BroadcastTo", "Range", "OneHot", "SparseToDense"})

# Operations that end when others have ended.
_JOINING = frozenset({"NoOp", "Identity"})

# A larger constant would take more memory than computing it takes time.
_MOST_VALUES = 2**16


class Facts:
    """Results of the operations of a step that are the same in each batch, or depend on single rows.

    Args:
        operations: Operations without side effects, each after those that it reads.
        given: Names of the tensors that the step is given, by name of their placeholders.
        batch: Rows of a batch.
        rows: All rows.
        kept: What was computed of all rows, by name of the tensor.

    Attributes:
        values: Constants by name of the tensor.
        kept: Further results of all rows.
        passing: Names of checks that pass.
    """

    def __init__(
        self,
        operations: Iterable[Any],
        given: Mapping[str, str],
        batch: int,
        rows: Rows,
        kept: Mapping[str, Any],
    ) -> None:
        self._given, self._batch, self._all_rows, self._kept = given, batch, rows, kept
        self._tables = {**rows.tables, **rows.vocabularies}
        self._rows: dict[str, ByRow] = {}
        self._first: dict[tuple[object, tuple[int, ...]], Any] = {}
        self.values: dict[str, Any] = {}
        self.kept: dict[str, Any] = {}
        self.passing: set[str] = set()
        for operation in operations:
            if row_checks.only_checks(operation):
                self._note_check(operation)
            else:
                self._note(operation)

    def waits_for(self, operation: Any) -> set[str]:
        """Return the names of operations that must run before another one, which does not read their results."""

        def waits(operations: Iterable[Any]) -> list[Any]:
            named = (each for each in operations if each.name not in self.passing)
            return [each for each in named if not self._is_known(each)]

        def follow(before: Any) -> list[Any]:
            return waits(walk.sources(before)) if before.type in _JOINING else []

        found = walk.reach(waits(operation.control_inputs), follow)
        return {before.name for before in found if before.type not in _JOINING}

    def same_elements(self, tensor: Any) -> Any:
        """Return the first tensor with the elements and the shape of this one, if it is computed row by row."""
        found = self._rows.get(tensor.name)
        first = None if found is None else self._first[found.elements, found.shape]
        return None if first is None or first.name == tensor.name else first

    def shape(self, tensor: Any) -> list[int] | None:
        """Return the shape of a tensor; None if it is not known."""
        if tensor.name in self._rows:
            return [self._batch, *self._rows[tensor.name].shape]
        return tensor.shape.as_list() if tensor.shape.is_fully_defined() else None

    def _is_known(self, operation: Any) -> bool:
        names = [tensor.name for tensor in operation.outputs]
        return bool(names) and all(name in self.values for name in names)

    def _note_check(self, operation: Any) -> None:
        passes = self.values.get(operation.inputs[0].name)
        if passes is not None and bool(np.all(passes)):
            self.passing.add(operation.name)

    def _note(self, operation: Any) -> None:
        """Note what is known about the results of an operation."""
        if not operation.outputs or operation.type == "Placeholder":
            self._note_given(operation)
            return
        if any(tensor.name in self._kept for tensor in operation.outputs):
            return
        sizes = _of_shape(operation, self.shape)
        if sizes is not None:
            self._note_values(operation, sizes)
            return
        known = [self._known(tensor) for tensor in operation.inputs]
        stateful = effects.is_stateful(operation) and operation.type not in row_rules.HASHING
        if any(each is None for each in known) or stateful:
            return
        if not any(isinstance(each, ByRow) for each in known):
            self._note_values(operation, _computed(operation, known))
            return
        # Shapes may not fit, or a row may fail: the step itself says so, if it reads that row.
        with contextlib.suppress(IndexError, *one_operation.REFUSALS):
            self._note_rows(operation, known)

    def _known(self, tensor: Any) -> Any:
        for known in (self._rows, self.values, self._tables):
            if tensor.name in known:
                return known[tensor.name]
        return None

    def _note_given(self, operation: Any) -> None:
        for tensor in operation.outputs:
            name = self._given.get(tensor.name, "")
            found = self._all_rows.given(name)
            if name in self._kept:
                found = ByRow.of_array(name, self._kept[name])
            if found is not None:
                self._note_row(tensor, found)

    def _note_values(self, operation: Any, values: Sequence[Any]) -> None:
        for tensor, value in zip(operation.outputs, values, strict=False):
            if np.size(value) <= _MOST_VALUES:
                self.values[tensor.name] = value

    def _note_rows(self, operation: Any, known: Sequence[Any]) -> None:
        for index, found in row_rules.results(operation, known, self._batch).items():
            tensor = operation.outputs[index]
            if isinstance(found, ByRow):
                self._note_row(tensor, found)
            else:
                self.values[tensor.name] = found.astype(tensor.dtype.as_numpy_dtype)

    def _note_row(self, tensor: Any, found: ByRow) -> None:
        """Note a tensor that is computed row by row; hashes are computed for all rows."""
        rows = self._all_rows
        if tensor.dtype == tf.bool:
            constant = rows.constant(found)
            if constant is not None:
                self.values[tensor.name] = np.full((self._batch, *found.shape), constant)
                return
        hashes = tensor.op.type in row_rules.HASHING and rows.replicas == 1
        if hashes and self._can_keep(rows.count * found.width):
            self.kept[tensor.name] = rows.computed(found)
            found = ByRow.of_array(tensor.name, self.kept[tensor.name])
        if self.waits_for(tensor.op):
            # Not equal to what it reads until a check has passed.
            found = replace(found, elements=object())
        self._rows[tensor.name] = found
        self._first.setdefault((found.elements, found.shape), tensor)

    def _can_keep(self, numbers: int) -> bool:
        together = sum(each.size for each in [*self._kept.values(), *self.kept.values()])
        return numbers <= by_row.MOST_KEPT and together + numbers <= by_row.MOST_KEPT_TOGETHER


def _of_shape(operation: Any, shape: Callable[[Any], list[int] | None]) -> list[Any] | None:
    """Return what an operation computes from the shapes of its inputs; None if there is more to know."""
    if operation.type not in _OF_SHAPE:
        return None
    shapes = [each for each in map(shape, operation.inputs) if each is not None]
    if len(shapes) < len(operation.inputs):
        return None
    output = operation.outputs[0]
    # Zeros and ones may also be lists of tensors, which NumPy does not have.
    if not (output.dtype.is_floating or output.dtype.is_integer):
        return None
    dtype = output.dtype.as_numpy_dtype
    if operation.type in ("Shape", "ShapeN"):
        return [np.array(each, dtype) for each in shapes]
    if operation.type == "Size":
        return [np.array(math.prod(shapes[0]), dtype)]
    if operation.type == "Rank":
        return [np.array(len(shapes[0]), dtype)]
    if math.prod(shapes[0]) > _MOST_VALUES:
        return None
    return [np.full(shapes[0], operation.type == "OnesLike", dtype)]


def _computed(operation: Any, inputs: Sequence[Any]) -> list[Any]:
    """Compute an operation of constants; nothing if that takes more than computing."""
    if _calls_function(operation) or not all(map(_can_be_constant, operation.outputs)):
        return []
    if operation.type == "Const":
        return [tf.make_ndarray(operation.get_attr("value"))]
    if not inputs:
        return []
    try:
        return one_operation.compute(operation, inputs)
    except one_operation.REFUSALS:
        # The step itself says so when it runs.
        return []


def _can_be_constant(tensor: Any) -> bool:
    if tensor.dtype in (tf.resource, tf.variant):
        return False
    size = tensor.shape.num_elements()
    if size is None:
        return tensor.op.type not in _GROWING
    return size <= _MOST_VALUES


def _calls_function(operation: Any) -> bool:
    attributes = operation.node_def.attr.values()
    return any(each.HasField("func") or each.list.func for each in attributes)
