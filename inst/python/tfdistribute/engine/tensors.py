"""R's operators and subsetting, applied to tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.features.named_matrix import named_matrix
from tfdistribute.errors import ArgumentError

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": tf.add,
    "-": tf.subtract,
    "*": tf.multiply,
    "/": tf.truediv,
    "^": tf.pow,
    "%/%": tf.math.floordiv,
    "%%": tf.math.floormod,
    "<": tf.less,
    "<=": tf.less_equal,
    ">": tf.greater,
    ">=": tf.greater_equal,
    "==": tf.equal,
    "!=": tf.not_equal,
    "&": tf.logical_and,
    "|": tf.logical_or,
}
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "+": tf.identity,
    "-": tf.negative,
    "!": tf.logical_not,
}


def operation(operator: str, operands: Sequence[Any]) -> Any:
    """Apply an operator of R.

    Args:
        operator: Such as ``"%/%"``.
        operands: One or two, at least one of them a tensor, a variable or features by name. A number becomes a tensor
            of the other's dtype; R writes 2.0 for 2.
    """
    tensors = [_as_tensor(each) for each in operands]
    if len(tensors) == 1:
        return _UNARY[operator](tensors[0])
    left, right = tensors
    return _BINARY[operator](_like(left, right), _like(right, left))


def subset(tensor: Any, positions: Sequence[Sequence[int] | None], drop: bool) -> Any:
    """Subset a tensor as R subsets an array.

    Args:
        tensor: A tensor or a variable.
        positions: Positions in each dimension, from 1; None for all. Dimensions that are left out are kept whole.
        drop: Whether a single position drops its dimension.

    Raises:
        ArgumentError: there are more positions than dimensions, or a position is beyond its dimension.
    """
    tensor = tf.convert_to_tensor(tensor)
    sizes = tensor.shape
    if sizes.rank is not None and len(positions) > sizes.rank:
        raise ArgumentError(
            f"`[` was given {len(positions)} positions for a tensor of {sizes.rank} dimensions.",
            argument="[",
        )
    axis = 0
    for number, chosen in enumerate(positions):
        if chosen is None:
            axis += 1
            continue
        size = None if sizes.rank is None else sizes[number]
        if size is not None and max(chosen) > size:
            raise ArgumentError(
                f"`[` asks for position {max(chosen)} of dimension {number + 1}, which has {size}.",
                argument="[",
                value=str(max(chosen)),
            )
        tensor = _taken(tensor, axis, [each - 1 for each in chosen], drop)
        axis += not (drop and len(chosen) == 1)
    return tensor


def dimensions(tensor: Any) -> list[int] | None:
    """Return the sizes of a tensor's dimensions, -1 for those that are not known; None if their number is not."""
    shape = tensor.shape
    return None if shape.rank is None else [-1 if size is None else size for size in shape]


def _as_tensor(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    matrix = named_matrix(value)
    if matrix is None:
        raise ArgumentError(
            "`features` are a list of columns that are not numbers of one kind, and no matrix.",
            f"Use one of them, as in features${next(iter(value))}.",
            argument="features",
        )
    return matrix


def _like(value: Any, other: Any) -> Any:
    dtype = getattr(other, "dtype", None)
    if tf.is_tensor(value) or isinstance(value, tf.Variable) or dtype is None:
        return value
    array = np.asarray(value)
    if (
        dtype.is_integer and array.dtype.kind == "f" and bool(np.all(array == np.trunc(array)))
    ) or (dtype.is_floating and array.dtype.kind in "fi"):
        array = array.astype(dtype.as_numpy_dtype)
    return array


def _taken(tensor: Any, axis: int, chosen: Sequence[int], drop: bool) -> Any:
    before = (slice(None),) * axis
    if len(chosen) == 1 and drop:
        return tensor[(*before, chosen[0])]
    if all(later == earlier + 1 for earlier, later in pairwise(chosen)):
        return tensor[(*before, slice(chosen[0], chosen[-1] + 1))]
    return tf.gather(tensor, list(chosen), axis=axis)
