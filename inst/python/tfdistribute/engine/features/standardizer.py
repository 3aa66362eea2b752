"""Centers and scales of numeric columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Standardizer:
    shape: tuple[int, ...]
    center: Numbers | None  # One number for all, or one for each number of a row.
    scale: Numbers | None
    # Whether the center is so large that 32 bits lose digits before it is subtracted.
    wide: bool = False

    def __call__(self, values: Any) -> Any:
        if self.wide:
            values = tf.cast(values, tf.float64)
        elif not values.dtype.is_floating:
            values = tf.cast(values, tf.float32)
        for numbers, change in ((self.center, tf.subtract), (self.scale, tf.divide)):
            if numbers is not None:
                constant = numbers[0] if len(numbers) == 1 else np.reshape(numbers, self.shape)
                values = change(values, tf.constant(constant, values.dtype))
        return values


def join_standardizers(standardizers: Sequence[Standardizer]) -> Standardizer:
    sizes = [math.prod(each.shape) for each in standardizers]

    def row(numbers: Sequence[Numbers | None], neutral: float) -> Numbers | None:
        if not any(numbers):
            return None
        rows = zip(numbers, sizes, strict=True)
        return tuple(
            np.concatenate([np.broadcast_to(each or neutral, size) for each, size in rows])
        )

    centers, scales = (
        [getattr(one, name) for one in standardizers] for name in ("center", "scale")
    )
    return Standardizer((sum(sizes),), row(centers, 0.0), row(scales, 1.0))
