"""Features packed into one matrix per dtype, and sliced into columns in the model's graph.

Slicing in the input pipeline, and concatenating again in the model, costs twenty operations for twenty columns.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import tensorflow as tf

# Up to this many slices are concatenated; more are gathered, which costs more than a few slices.
_MOST_SLICES = 4


@dataclass(frozen=True)
class ColumnSlice:
    matrix: int
    start: int
    shape: tuple[int, ...] = ()  # Of one example: ``()`` for single values.

    @property
    def width(self) -> int:
        return math.prod(self.shape)


class PackedFeatures(dict[str, Any]):
    """The features of a batch between the input and the model.

    TensorFlow keeps the class of this dictionary through datasets and strategies, so the class holds the same for all
    batches: ``slices`` of the matrices, and the ``order`` of all columns.
    """

    slices: ClassVar[Mapping[str, ColumnSlice]] = {}
    order: ClassVar[tuple[str, ...]] = ()


def pack(
    order: Sequence[str],
    slices: Mapping[str, ColumnSlice],
    matrices: Sequence[Any],
    columns: Mapping[str, Any],
) -> PackedFeatures:
    read = sorted({each.matrix for each in slices.values()})
    packed_class = _class(tuple(order), tuple(slices.items()))
    return packed_class(
        matrices={str(index): matrices[index] for index in read}, columns=dict(columns)
    )


@lru_cache(maxsize=64)
def _class(
    order: tuple[str, ...], slices: tuple[tuple[str, ColumnSlice], ...]
) -> type[PackedFeatures]:
    return type("PackedFeatures", (PackedFeatures,), {"order": order, "slices": dict(slices)})


class Features(dict[str, Any]):
    # TensorFlow copies without arguments; such copies have features by name only.
    _matrices: Mapping[int, Any] = {}
    _slices: Mapping[str, ColumnSlice] = {}

    @classmethod
    def unpack(cls, packed: PackedFeatures) -> "Features":
        matrices = {int(index): matrix for index, matrix in packed["matrices"].items()}
        columns = {**slice_columns(matrices, packed.slices), **packed["columns"]}
        features = cls({name: columns[name] for name in packed.order})
        features._matrices, features._slices = matrices, packed.slices
        return features

    def as_matrix(self, names: Sequence[str], only_float32: bool = False) -> Any:
        """Return features as one float32 matrix of shape [examples, values]; None if not all come in a matrix.

        With ``only_float32``, features of another type give None, too.
        """
        if not all(name in self._slices for name in names):
            return None
        slices = [self._slices[name] for name in names]
        read = sorted({each.matrix for each in slices})
        if only_float32 and any(self._matrices[index].dtype != tf.float32 for index in read):
            return None
        matrices = [tf.cast(self._matrices[index], tf.float32) for index in read]
        together = matrices[0] if len(matrices) == 1 else tf.concat(matrices, 1)
        before, width = dict[int, int](), 0
        for index in read:
            before[index] = width
            width += int(self._matrices[index].shape[1])
        positions = [
            before[each.matrix] + each.start + offset
            for each in slices
            for offset in range(each.width)
        ]
        return _select(together, positions, width)


def slice_columns(
    matrices: Mapping[int, Any] | Sequence[Any], slices: Mapping[str, ColumnSlice]
) -> dict[str, Any]:
    """Slice columns out of matrices of shape [..., examples, columns], with ``...`` for chunks of batches."""
    singles = {
        index: _singles(matrices[index], index, slices)
        for index in {each.matrix for each in slices.values()}
    }
    return {
        name: singles[each.matrix][each.start] if each.shape == () else _wide(matrices, each)
        for name, each in slices.items()
    }


def _singles(matrix: Any, index: int, slices: Mapping[str, ColumnSlice]) -> dict[int, Any]:
    starts = [each.start for each in slices.values() if each.matrix == index and each.shape == ()]
    if not starts:
        return {}
    if len(starts) == 1:
        return {starts[0]: matrix[..., starts[0]]}
    first, after = min(starts), max(starts) + 1
    parts = tf.unstack(matrix[..., first:after], num=after - first, axis=-1)
    return {start: parts[start - first] for start in starts}


def _wide(matrices: Any, each: ColumnSlice) -> Any:
    matrix = matrices[each.matrix]
    values = matrix[..., each.start : each.start + each.width]
    if len(each.shape) > 1:
        values = tf.reshape(values, tf.concat([tf.shape(matrix)[:-1], each.shape], 0))
        values.set_shape([*matrix.shape[:-1], *each.shape])
    return values


def _select(together: Any, positions: Sequence[int], width: int) -> Any:
    if list(positions) == list(range(width)):
        return together
    breaks = [at + 1 for at, (one, next_) in enumerate(pairwise(positions)) if next_ != one + 1]
    parts = list(pairwise([0, *breaks, len(positions)]))
    if len(parts) > _MOST_SLICES:
        return tf.gather(together, positions, axis=1)
    runs = [together[:, positions[first] : positions[after - 1] + 1] for first, after in parts]
    return runs[0] if len(runs) == 1 else tf.concat(runs, 1)
