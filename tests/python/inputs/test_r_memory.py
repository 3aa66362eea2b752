"""Numbers in R's memory, with a stand-in for R's C interface."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistribute.inputs import Column
from tfdistribute.inputs.packed import packing
from tfdistribute.inputs.packed.packing import pack

DOUBLES, STRINGS = 14, 16


def fake_r(values: np.ndarray, kind: int = DOUBLES, computed: bool = True) -> Any:
    """R with one vector, at address 0x2a."""

    def only(returned: Any) -> Any:
        def called(vector: int) -> Any:
            assert vector == 0x2A
            return returned

        return called

    return SimpleNamespace(
        type_of=only(kind),
        length=only(len(values)),
        values=only(values.ctypes.data if computed else None),
    )


def test_numbers_are_read_where_r_keeps_them(monkeypatch):
    values = np.arange(5.0)
    monkeypatch.setattr(packing, "_r", lambda: fake_r(values))
    owner = object()
    read = packing.numbers_at("0x2a", owner)
    assert np.shares_memory(read, values)
    assert not read.flags.writeable
    base = read
    while isinstance(base, np.ndarray):
        base = base.base
    assert memoryview(base).obj.owner is owner


@pytest.mark.parametrize(
    "r",
    [
        None,
        fake_r(np.arange(5.0), kind=STRINGS),
        fake_r(np.arange(5.0), computed=False),
    ],
    ids=["without R", "other values", "values not computed yet"],
)
def test_what_cannot_be_read_in_place_is_copied(monkeypatch, r):
    monkeypatch.setattr(packing, "_r", lambda: r)
    assert packing.numbers_at("0x2a", None) is None
    column = Column(
        "x",
        "float",
        lambda: {"address": "0x2a", "array": {"call": lambda: {"value": np.full(5, 7.0)}}},
    )
    assert pack([column]).gather(np.array([[4]]))[0].tolist() == [[[7.0]]]


def on_windows(name: None) -> Any:
    raise TypeError(name)


@pytest.mark.parametrize("library", [lambda name: object(), on_windows])
def test_a_process_without_r_has_no_functions_of_r(monkeypatch, library):
    monkeypatch.setattr("ctypes.PyDLL", library)
    assert packing._r.__wrapped__() is None
