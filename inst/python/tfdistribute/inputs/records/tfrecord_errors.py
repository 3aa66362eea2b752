"""Faults in records, by file and record, which TensorFlow's errors do not name."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts

# The message list for each column dtype; there is only one integer type.
VALUE_LISTS: Mapping[str, str] = {
    "float32": "float_list",
    "int32": "int64_list",
    "int64": "int64_list",
    "string": "bytes_list",
}
_HELD: Mapping[str, str] = {
    "float_list": "floating-point numbers",
    "int64_list": "whole numbers",
    "bytes_list": "strings",
}

# Text of the operation in TensorFlow's errors.
FOUND = "tfdistribute: the response is infinite"


def first_fault(
    messages: Sequence[bytes],
    columns: Mapping[str, ColumnFacts],
    optional: Collection[str] = (),
    finite: str | None = None,
) -> tuple[int, str] | None:
    for position, message in enumerate(messages):
        fault = _fault(message, columns, optional, finite)
        if fault is not None:
            return position, fault
    return None


def _fault(
    message: bytes,
    columns: Mapping[str, ColumnFacts],
    optional: Collection[str],
    finite: str | None,
) -> str | None:
    try:
        held = engine.tf.train.Example.FromString(message).features.feature
    except Exception:  # noqa: BLE001 - versions of protobuf raise different errors
        return "is not a tf.train.Example message"
    for name, facts in columns.items():
        kind = held[name].WhichOneof("kind") if name in held else None
        values: Any = [] if kind is None else getattr(held[name], kind).value
        if kind is None and name in optional:
            continue
        wanted, count = VALUE_LISTS[facts.dtype], math.prod(facts.shape)
        if len(values) == 0 and count:
            return f"has no value in the column `{name}`"
        if kind is not None and kind != wanted:
            return f"holds {_HELD[kind]} in the column `{name}`, not {_HELD[wanted]}"
        if len(values) != count:
            return f"holds {len(values)} values in the column `{name}`, not {count}"
        if name == finite and np.isinf(values).any():
            return f"has an infinite response `{name}`, from which nothing can be learnt"
    return None


def refuse_infinite(unpack: Callable[..., Any], label: str | None) -> Callable[..., Any]:
    """Make a function that turns a chunk into features and label fail if a response is infinite.

    TensorFlow checks all labels of a chunk in one operation, in the threads that unpack it.
    """
    if label is None:
        return unpack

    def unpack_and_check(matrices: tuple[Any, ...], tables: tuple[Any, ...]) -> Any:
        tf = engine.tf
        features, labels = unpack(matrices, tables)
        if not labels.dtype.is_floating:
            return features, labels
        infinite = tf.reduce_any(tf.math.is_inf(labels))
        with tf.control_dependencies([tf.debugging.Assert(~infinite, [FOUND])]):
            return features, tf.identity(labels)

    return unpack_and_check
