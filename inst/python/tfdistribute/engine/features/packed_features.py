"""Features that travel side by side: numbers of one dtype as one tensor, cut into columns in the model's graph.

Each operation of a step costs a microsecond or two however little it does. Cut in the input pipeline, twenty columns
cost twenty operations there and twenty more wherever the model puts them side by side again. Here a model takes the
tensor as it is (``Features.side_by_side``); columns that it asks for by name are cut, and those that it does not
ask for cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import tensorflow as tf

# Parts of a tensor that are cut out and joined; more are gathered, which costs more than some parts do.
_JOINED_PARTS = 4


@dataclass(frozen=True)
class Cut:
    """Where a column is in the tensors.

    Args:
        matrix: Position of the tensor, of shape [examples, columns].
        start: Its first column there.
        shape: Shape of one example: ``()`` for single values.
    """

    matrix: int
    start: int
    shape: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """How many columns of the tensor it takes."""
        return math.prod(self.shape)


class PackedFeatures(dict[str, Any]):
    """The features of a batch on their way to the model.

    TensorFlow takes it for a dictionary of ``matrices`` by their position and ``columns`` by their name, and keeps
    its class through datasets and strategies; so the class holds what is the same for all batches.

    Attributes:
        cuts: Where the columns of the matrices are, by name.
        order: The names of all columns, in the order of the input.
    """

    cuts: ClassVar[Mapping[str, Cut]] = {}
    order: ClassVar[tuple[str, ...]] = ()


def packed(
    order: Sequence[str],
    cuts: Mapping[str, Cut],
    matrices: Sequence[Any],
    columns: Mapping[str, Any],
) -> PackedFeatures:
    """Pack the features of a batch.

    Args:
        order: The names of all columns.
        cuts: Where the columns of the matrices are, by name.
        matrices: Tensors of shape [examples, columns]; those without a column stay behind.
        columns: Tensors of the other columns, by name.
    """
    read = sorted({cut.matrix for cut in cuts.values()})
    kind = _kind(tuple(order), tuple(cuts.items()))
    return kind(matrices={str(index): matrices[index] for index in read}, columns=dict(columns))


@lru_cache(maxsize=64)
def _kind(order: tuple[str, ...], cuts: tuple[tuple[str, Cut], ...]) -> type[PackedFeatures]:
    return type("PackedFeatures", (PackedFeatures,), {"order": order, "cuts": dict(cuts)})


class Features(dict[str, Any]):
    """Features by name, some of them cut from tensors in which they stand side by side."""

    # TensorFlow makes copies without arguments; a copy has the features by name only.
    _matrices: Mapping[int, Any] = {}
    _cuts: Mapping[str, Cut] = {}

    @classmethod
    def of(cls, given: PackedFeatures) -> Features:
        """Cut packed features."""
        matrices = {int(index): matrix for index, matrix in given["matrices"].items()}
        found = {**cut(matrices, given.cuts), **given["columns"]}
        made = cls({name: found[name] for name in given.order})
        made._matrices, made._cuts = matrices, given.cuts
        return made

    def side_by_side(self, names: Sequence[str], only_float32: bool = False) -> Any:
        """Give several features as one tensor.

        Args:
            names: Their names, in the wanted order.
            only_float32: Whether features of other types are not cast.

        Returns:
            A float32 tensor of shape [examples, values]; None where one of them is in no tensor with others, or of
            another type.
        """
        if not all(name in self._cuts for name in names):
            return None
        cuts = [self._cuts[name] for name in names]
        read = sorted({each.matrix for each in cuts})
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
            for each in cuts
            for offset in range(each.width)
        ]
        return _chosen(together, positions, width)


def cut(matrices: Mapping[int, Any] | Sequence[Any], cuts: Mapping[str, Cut]) -> dict[str, Any]:
    """Cut columns out of the tensors in which they stand side by side.

    Args:
        matrices: Tensors of shape [..., examples, columns], by position; ``...`` for chunks of many batches.
        cuts: Where the columns are, by name.

    Returns:
        Tensors of shape [..., examples, ...] by name.
    """
    singles = {index: _singles(matrices[index], index, cuts) for index in _read(cuts)}
    return {
        name: singles[each.matrix][each.start] if each.shape == () else _wide(matrices, each)
        for name, each in cuts.items()
    }


def _read(cuts: Mapping[str, Cut]) -> set[int]:
    return {each.matrix for each in cuts.values()}


def _singles(matrix: Any, index: int, cuts: Mapping[str, Cut]) -> dict[int, Any]:
    """Take apart the single values of a matrix in one operation, by their position."""
    starts = [each.start for each in cuts.values() if each.matrix == index and each.shape == ()]
    if not starts:
        return {}
    if len(starts) == 1:
        return {starts[0]: matrix[..., starts[0]]}
    first, after = min(starts), max(starts) + 1
    parts = tf.unstack(matrix[..., first:after], num=after - first, axis=-1)
    return {start: parts[start - first] for start in starts}


def _wide(matrices: Any, each: Cut) -> Any:
    matrix = matrices[each.matrix]
    values = matrix[..., each.start : each.start + each.width]
    if len(each.shape) > 1:
        values = tf.reshape(values, tf.concat([tf.shape(matrix)[:-1], each.shape], 0))
        values.set_shape([*matrix.shape[:-1], *each.shape])
    return values


def _chosen(together: Any, positions: Sequence[int], width: int) -> Any:
    """Choose columns of a tensor, with as little work as their order allows."""
    if list(positions) == list(range(width)):
        return together
    breaks = [at + 1 for at, (one, next_) in enumerate(pairwise(positions)) if next_ != one + 1]
    parts = list(pairwise([0, *breaks, len(positions)]))
    if len(parts) > _JOINED_PARTS:
        return tf.gather(together, positions, axis=1)
    runs = [together[:, positions[first] : positions[after - 1] + 1] for first, after in parts]
    return runs[0] if len(runs) == 1 else tf.concat(runs, 1)
