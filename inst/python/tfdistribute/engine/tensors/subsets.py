"""R's subsetting of tensors, and their dimensions."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import tensorflow as tf

from tfdistribute.errors import ArgumentError


def subset(tensor: Any, positions: Sequence[Sequence[int] | None], drop: bool) -> Any:
    """Subset a tensor as R subsets an array, by positions from 1; None for all of a dimension.

    Dimensions that are left out are kept whole. ``drop`` if a single position drops its dimension. ArgumentError for
    positions or dimensions that do not exist.
    """
    tensor = tf.convert_to_tensor(tensor)
    sizes = tensor.shape
    if sizes.rank is not None and len(positions) > sizes.rank:
        raise ArgumentError(
            f"`[` was given {len(positions)} positions for a tensor of {sizes.rank} dimensions.",
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
                value=str(max(chosen)),
            )
        tensor = _take(tensor, axis, [each - 1 for each in chosen], drop)
        axis += not (drop and len(chosen) == 1)
    return tensor


def dimensions(tensor: Any) -> list[int] | None:
    """Return the sizes of a tensor's dimensions, -1 for unknown sizes; None if their number is not known."""
    shape = tensor.shape
    return None if shape.rank is None else [-1 if size is None else size for size in shape]


def _take(tensor: Any, axis: int, chosen: Sequence[int], drop: bool) -> Any:
    before = (slice(None),) * axis
    if len(chosen) == 1 and drop:
        return tensor[(*before, chosen[0])]
    if all(later == earlier + 1 for earlier, later in pairwise(chosen)):
        return tensor[(*before, slice(chosen[0], chosen[-1] + 1))]
    return tf.gather(tensor, list(chosen), axis=axis)
