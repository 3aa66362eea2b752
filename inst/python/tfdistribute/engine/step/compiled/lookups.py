"""Uses of distinct values that a compiled step may replace: lookups of rows of tables, their gradients and updates.

A compiled step keeps equal values, so a step is not compiled if anything depends on their number, or would see more
than one of equal rows. Each tensor that depends on distinct values has a kind, and each kind has the operations that
may read it.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import walk

# Distinct numbers of rows, rows of a table by them, for each value the position of its distinct one, gradients of such
# rows, which are zero except for one of equal rows, whether they are finite, and sizes of all these.
NUMBERS, ROWS, POSITIONS, GRADIENT, FINITE, SIZE = range(6)

# The input of an operation that holds the numbers of rows.
INDICES = {
    "ResourceGather": 1,
    "ResourceScatterAdd": 1,
    "ResourceScatterSub": 1,
    "ResourceSparseApplyAdagrad": 4,
    "ResourceSparseApplyAdagradV2": 5,
    "ResourceSparseApplyFtrl": 4,
    "ResourceSparseApplyFtrlV2": 4,
}

# Operations that keep rows and their order.
COPIES = ("Identity", "Reshape", "Cast")

_SIZES = ("Shape", "ShapeN", "Size")
_CHECKS = ("CheckNumerics", "CheckNumericsV2")
_ARITHMETIC = ("Neg", "Square", "RealDiv", "DivNoNan", "Sum")
_SCATTERS = ("ResourceScatterAdd", "ResourceScatterSub")

# Types of operations that may read a kind, the positions of the input, and the kind of the results: None if they do not
# depend on the number of distinct values.
_USES: dict[int, tuple[tuple[Collection[str], Collection[int], int | None], ...]] = {
    NUMBERS: (
        (COPIES, (0,), NUMBERS),
        (_SIZES, (0,), SIZE),
        (("ResourceGather",), (1,), ROWS),
        *(((name,), (position,), None) for name, position in INDICES.items()),
        (("Unique",), (0,), None),
    ),
    ROWS: (
        (COPIES, (0,), ROWS),
        (_SIZES, (0,), SIZE),
        (("GatherV2",), (0,), None),
    ),
    POSITIONS: (
        (COPIES, (0,), POSITIONS),
        (_SIZES, (0,), None),
        (("GatherV2",), (1,), None),
        (("UnsortedSegmentSum",), (1,), GRADIENT),
    ),
    GRADIENT: (
        ((*COPIES, *_CHECKS), (0,), GRADIENT),
        (_SIZES, (0,), SIZE),
        (_ARITHMETIC, (0,), GRADIENT),
        (("Mul",), (0, 1), GRADIENT),
        (("L2Loss", "UnsortedSegmentSum"), (0,), None),
        (("IsFinite",), (0,), FINITE),
        *(((name,), (position - 1,), None) for name, position in INDICES.items()),
        (_SCATTERS, (2,), None),
    ),
    FINITE: ((("All",), (0,), None),),
    SIZE: (
        (("Identity", "Cast", "ExpandDims", "StridedSlice"), (0,), SIZE),
        (("BroadcastGradientArgs", "Pack", "ConcatV2"), range(4), SIZE),
        (("Reshape", "Sum"), (1,), None),
        (("UnsortedSegmentSum",), (2,), None),
    ),
}


class NotCompilableError(Exception):
    """A step cannot be compiled, for the reason in the text."""


def tables(operations: Collection[Any]) -> dict[str, Any]:
    """Return the tables whose rows are looked up or updated by distinct values, by the names of ``Unique``.

    NotCompilableError if distinct values are used for something else.
    """
    found = dict[str, Any]()
    step = {each.name for each in operations}
    for unique in reversed(walk.in_order(each for each in operations if each.type == "Unique")):
        found[unique.name] = _Uses(unique, step).table(found)
    return found


class _Uses:
    def __init__(self, unique: Any, step: Collection[str]) -> None:
        self._unique, self._step = unique, step
        # By names of tensors, and the operations that read them.
        self._kinds: dict[str, int] = {}
        self._readers: list[Any] = []

    def table(self, others: Mapping[str, Any]) -> Any:
        numbers, positions = (each.ref() for each in self._unique.outputs)
        begin = ((numbers, NUMBERS), (positions, POSITIONS))
        for tensor, kind in walk.reach(begin, lambda node: list(self._results(*node))):
            self._kinds[tensor.deref().name] = kind
        # Optimizers remove equal numbers again.
        tables = [
            others[each.name] if each.type == "Unique" else each.inputs[0]
            for each in self._readers
            if each.type == "Unique" or each.type in INDICES
        ]
        if not tables or not all(map(self._is_complete, self._readers)):
            raise self._refusal
        return tables[0]

    @property
    def _refusal(self) -> NotCompilableError:
        return NotCompilableError(
            f"Unique {self._unique.name!r} has a result whose size depends on values"
        )

    def _results(self, tensor: Any, kind: int) -> Iterator[tuple[Any, int]]:
        for reader, position in walk.readers(tensor.deref()):
            if reader.name in self._step:
                self._readers.append(reader)
                result = self._kind_of_results(reader, position, kind)
                if result is not None:
                    yield from ((each.ref(), result) for each in reader.outputs)

    def _kind_of_results(self, reader: Any, position: int, kind: int) -> int | None:
        for names, positions, result in _USES[kind]:
            if reader.type in names and position in positions:
                is_whole = kind != SIZE or all(each.dtype.is_integer for each in reader.outputs)
                is_scalar = reader.type == "Sum" and reader.outputs[0].shape.rank == 0
                if is_whole or result is None:
                    return None if is_scalar else result
        raise self._refusal

    def _is_complete(self, reader: Any) -> bool:
        """Return whether the other inputs of a lookup or an update belong to the same distinct values."""
        kinds = [self._kinds.get(each.name) for each in reader.inputs]
        if reader.type == "GatherV2":
            return kinds[:2] == [ROWS, POSITIONS] and tf.get_static_value(reader.inputs[2]) == 0
        if reader.type in _SCATTERS:
            return kinds[1:] == [NUMBERS, GRADIENT]
        if reader.type in INDICES and reader.type != "ResourceGather":
            index = INDICES[reader.type]
            return kinds[index - 1 : index + 1] == [GRADIENT, NUMBERS]
        return True
