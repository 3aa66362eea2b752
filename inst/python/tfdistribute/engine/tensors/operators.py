"""R's operators on tensors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

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
    """Apply an operator of R; a number becomes a tensor of the other's dtype, as R writes 2.0 for 2."""
    if len(operands) == 1:
        return _UNARY[operator](operands[0])
    left, right = operands
    return _BINARY[operator](like(left, right), like(right, left))


def like(value: Any, other: Any) -> Any:
    dtype = getattr(other, "dtype", None)
    if tf.is_tensor(value) or isinstance(value, tf.Variable) or dtype is None:
        return value
    array = np.asarray(value)
    if (
        dtype.is_integer and array.dtype.kind == "f" and bool(np.all(array == np.trunc(array)))
    ) or (dtype.is_floating and array.dtype.kind in "fi"):
        array = array.astype(dtype.as_numpy_dtype)
    return array
