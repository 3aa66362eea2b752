"""Refusal of infinite responses in records, from which nothing can be learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.errors import InputError

# Text of the operation in TensorFlow's errors.
_FOUND = "tfdistribute: the response is infinite"


def refuse_infinite(unpack: Callable[..., Any], label: str | None) -> Callable[..., Any]:
    """Let a function that turns a chunk into features and label fail if a response is infinite.

    TensorFlow looks at the labels of a whole chunk at once, in the threads that unpack it.
    """
    if label is None:
        return unpack

    def unpack_and_check(matrices: tuple[Any, ...], tables: tuple[Any, ...]) -> Any:
        tf = engine.tf
        features, labels = unpack(matrices, tables)
        if not labels.dtype.is_floating:
            return features, labels
        infinite = tf.reduce_any(tf.math.is_inf(labels))
        with tf.control_dependencies([tf.debugging.Assert(~infinite, [_FOUND])]):
            return features, tf.identity(labels)

    return unpack_and_check


def has_found(error: Exception) -> bool:
    return _FOUND in str(error)


def first_infinite(values: npt.NDArray[Any]) -> int | None:
    infinite = np.isinf(values.reshape(len(values), -1)).any(axis=1)
    return int(infinite.argmax()) if infinite.any() else None


def infinite_response(name: str, path: str, record: int) -> InputError:
    """Make the error; records are counted from 1."""
    return InputError(
        f'The response `{name}` is infinite in record {record} of "{path}", from which nothing can be learnt.',
        "Rescale the response or remove these rows.",
        argument=name,
    )
