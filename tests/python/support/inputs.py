"""Inputs from columns in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute.descriptions import read
from tfdistribute.inputs import Input

_TYPES = {"f": "float", "i": "integer", "b": "logical"}


@dataclass(frozen=True)
class Factor:
    """Strings as R's factors store them, or as R sends texts without levels."""

    codes: Any
    levels: Sequence[str]
    is_text: bool = False


def in_memory(columns: Mapping[str, Any], response: str | None = "y", **fields: Any) -> Input:
    """Describe an input of named arrays and factors."""
    described = [_column(name, values) for name, values in columns.items()]
    return read(Input, {"kind": "in_memory", "columns": described, "response": response, **fields})


def from_function(function: Callable[..., Any]) -> Input:
    """Describe an input from a function that returns a dataset."""
    return read(Input, {"kind": "dataset_function", "function": function})


def _column(name: str, values: Any) -> dict[str, Any]:
    if isinstance(values, Factor):
        wire = {"codes": values.codes, "labels": values.levels}
        levels = None if values.is_text else list(values.levels)
        return {"name": name, "type": "string", "values": lambda: wire, "levels": levels}
    array = np.asarray(values)
    if array.dtype.kind == "M":
        days = np.where(np.isnat(array), np.nan, array.astype("datetime64[D]").astype(float))
        return {"name": name, "type": "date", "values": lambda: days, "shape": []}
    kind = _TYPES[array.dtype.kind]
    return {"name": name, "type": kind, "values": lambda: array, "shape": list(array.shape[1:])}
