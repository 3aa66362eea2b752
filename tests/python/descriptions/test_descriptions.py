"""Descriptions read from mappings."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tfdistribute.callbacks import Callback, takes
from tfdistribute.descriptions import Description, read
from tfdistribute.errors import ArgumentError, CallbackError


class Shape(Description):
    """A family for the tests."""


@dataclass(frozen=True)
class Circle(Shape, kind="circle"):
    radius: float
    sides: int | None = None


@dataclass(frozen=True)
class Group(Shape, kind="group"):
    members: tuple[Shape, ...]
    sizes: tuple[int, ...] = ()
    names: dict[str, str] | None = None
    drawn_by: Callable[..., Any] | None = None


def test_the_kind_chooses_the_member():
    assert read(Shape, {"kind": "circle", "radius": 2}) == Circle(2.0)


def test_the_types_of_a_description_are_found_out_once(monkeypatch: pytest.MonkeyPatch):
    read(Shape, {"kind": "circle", "radius": 2})
    monkeypatch.delattr(typing, "get_type_hints")
    assert read(Shape, {"kind": "circle", "radius": 3}) == Circle(3.0)


def test_a_whole_number_from_r_becomes_an_integer():
    circle = read(Shape, {"kind": "circle", "radius": 1, "sides": 4.0})
    assert isinstance(circle, Circle)
    assert circle.sides == 4
    assert isinstance(circle.sides, int)


def test_a_single_value_becomes_a_tuple_where_several_are_held():
    group = read(Shape, {"kind": "group", "members": {"kind": "circle", "radius": 1}, "sizes": 3.0})
    assert group == Group((Circle(1.0),), (3,))


def test_nested_mappings_become_nested_descriptions():
    members = [{"kind": "circle", "radius": 1}, {"kind": "group", "members": []}]
    assert read(Shape, {"kind": "group", "members": members}) == Group((Circle(1.0), Group(())))


@pytest.mark.parametrize(
    ("mapping", "argument"),
    [
        ({"kind": "square"}, "kind"),
        ({"kind": "circle"}, "radius"),
        ({"kind": "circle", "radius": 1, "colour": "red"}, "colour"),
        ({"kind": "circle", "radius": "wide"}, "radius"),
        ({"kind": "circle", "radius": 1, "sides": 4.5}, "sides"),
        ({"kind": "circle", "radius": True}, "radius"),
        ({"kind": "group", "members": None}, "members"),
        ({"kind": "group", "members": [], "names": "x"}, "names"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(mapping: dict[str, Any], argument: str):
    with pytest.raises(ArgumentError, match=argument if argument != "kind" else "square") as caught:
        read(Shape, mapping)
    assert caught.value.argument == argument


def test_a_function_from_r_is_called_and_its_answer_unpacked():
    wire = {"call": lambda x: {"value": x + 1}, "formals": ["x"]}
    group = read(Shape, {"kind": "group", "members": [], "drawn_by": wire})
    assert isinstance(group, Group)
    assert isinstance(group.drawn_by, Callback)
    assert group.drawn_by(1) == 2
    assert takes(group.drawn_by, "x")
    assert not takes(group.drawn_by, "y")


def test_an_error_in_a_function_from_r_is_raised():
    with pytest.raises(CallbackError, match="object 'y' not found"):
        Callback(lambda: {"error": "object 'y' not found"}, ())()


def test_a_python_function_takes_what_its_signature_says():
    assert takes(lambda features, mode: None, "mode")
    assert takes(lambda **rest: None, "mode")
    assert not takes(lambda features: None, "mode")


def test_an_interrupt_in_a_function_from_r_is_raised():
    with pytest.raises(KeyboardInterrupt):
        Callback(lambda: {"interrupt": True}, ())()
