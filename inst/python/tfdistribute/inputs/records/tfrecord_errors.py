"""Faults in messages: TensorFlow's parse errors name neither the file nor the record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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


def floats_of(messages: Sequence[bytes], name: str) -> npt.NDArray[np.float32]:
    parse = engine.tf.train.Example.FromString
    rows = [parse(message).features.feature[name].float_list.value for message in messages]
    return np.array(rows, np.float32)


def first_fault(
    messages: Sequence[bytes], columns: Mapping[str, ColumnFacts]
) -> tuple[int, str] | None:
    """Find the first message without the expected columns."""
    for position, message in enumerate(messages):
        fault = _fault(message, columns)
        if fault is not None:
            return position, fault
    return None


def _fault(message: bytes, columns: Mapping[str, ColumnFacts]) -> str | None:
    try:
        held = engine.tf.train.Example.FromString(message).features.feature
    except Exception:  # noqa: BLE001 - versions of protobuf raise different errors
        return "is not a tf.train.Example message"
    for name, facts in columns.items():
        kind = held[name].WhichOneof("kind") if name in held else None
        values: Any = [] if kind is None else getattr(held[name], kind).value
        wanted, count = VALUE_LISTS[facts.dtype], math.prod(facts.shape)
        if len(values) == 0 and count:
            return f"has no value in the column `{name}`"
        if kind is not None and kind != wanted:
            return f"holds {_HELD[kind]} in the column `{name}`, not {_HELD[wanted]}"
        if len(values) != count:
            return f"holds {len(values)} values in the column `{name}`, not {count}"
    return None
