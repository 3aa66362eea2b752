"""Values as flat entries that two processes compare."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest

from tfdistribute.callbacks import code_of
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.comparison import Exceptions, entries_of, first_difference
from tfdistribute.descriptions.constraints import MayDiffer, ValuesMayDiffer

NONE = Exceptions()


@dataclass(frozen=True)
class Shape(Description):
    sides: int = 3
    title: str = ""


@dataclass(frozen=True)
class Drawing(Description, kind="drawing"):
    shapes: tuple[Shape, ...] = ()
    place: str = "here"

    def content(self) -> dict[str, Any]:
        return {"bytes": len(self.shapes)}


class Optimizer:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def get_config(self) -> dict[str, Any]:
        return {"learning_rate": self.rate}


def entries(value: Any, exceptions: Exceptions = NONE) -> dict[str, Any]:
    return json.loads(json.dumps(entries_of(value, "x", exceptions)))


def difference(one: Any, other: Any) -> str | None:
    found = first_difference(entries(one), entries(other))
    return None if found is None else found[0]


def test_a_description_becomes_its_kind_its_fields_and_its_content() -> None:
    assert entries(Drawing((Shape(), Shape(4)))) == {
        "x": "drawing",
        "x$shapes[1]$sides": 3,
        "x$shapes[1]$title": "",
        "x$shapes[2]$sides": 4,
        "x$shapes[2]$title": "",
        "x$place": "here",
        "x$bytes": 2,
    }


def test_what_may_differ_between_tasks_is_left_out_also_of_subclasses() -> None:
    @dataclass(frozen=True)
    class Place(Description):
        path: Annotated[str, MayDiffer("It is a path.")]
        size: int = 1

    @dataclass(frozen=True)
    class Inner(Place):
        pass

    @dataclass(frozen=True)
    class Watcher(Description):
        may_differ: ClassVar[str | None] = "It only watches."

    between_tasks = Exceptions(between_tasks=True)
    assert entries([Inner("/a"), Watcher()], between_tasks) == {"x[1]$size": 1}
    assert "x[1]$path" in entries([Inner("/a"), Watcher()])


def test_classes_can_be_left_out() -> None:
    drawing = Drawing((Shape(4),))
    assert "x$shapes[1]$sides" not in entries(drawing, Exceptions(left_out=(Shape,)))


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        (0.1, 0.2, "x"),
        ([64, 32], [64, 16], "x"),
        (list(range(100)), [*range(99), 0], "x"),
        ({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}, "x$b$c"),
        ({"a": 1}, {"a": 1, "b": 2}, "x$b"),
        ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}], "x[2]$a"),
        ("a" * 100 + "b", "a" * 100 + "c", "x"),
        (np.arange(10), np.arange(1, 11), "x"),
        (np.float32(1), np.float32(2), "x"),
        ({1, 2}, {1, 3}, "x"),
        (b"a", b"b", "x"),
        (Optimizer(0.1), Optimizer(0.2), "x$learning_rate"),
        ({f"a{i}": i for i in range(2000)}, {f"a{i}": i % 1999 for i in range(2000)}, "x"),
    ],
)
def test_the_first_difference_is_found_by_its_path(one: Any, other: Any, path: str) -> None:
    assert difference(one, one) is None
    assert difference(one, other) == path
    assert len(json.dumps(entries(one))) < 200


def test_numbers_that_json_does_not_know_are_equal_to_themselves() -> None:
    assert difference([float("nan"), float("inf")], [float("nan"), float("inf")]) is None


def test_absolute_paths_and_other_objects_are_not_compared() -> None:
    assert entries({"data": "/data/of/host/a", "home": "~/data", "o": object()}) == {}


def test_text_in_a_field_is_compared_though_it_looks_like_a_path() -> None:
    @dataclass(frozen=True)
    class Labels(Description):
        first: str
        others: tuple[str, ...]

    one = Labels("/a", ("/b", "~/c"))
    assert difference(one, one) is None
    assert difference(one, Labels("/z", ("/b", "~/c"))) == "x$first"
    assert difference(one, Labels("/a", ("/b", "~/z"))) == "x$others"


def test_samples_stand_for_large_content() -> None:
    zeros, other = np.zeros(2**27, np.uint8), np.zeros(2**27, np.uint8)
    other[-1] = 1
    assert difference(zeros, other) == "x"


# Functions --------------------------------------------------------------------------------------

RATE = 0.1


def uses_global(features: Any) -> Any:
    return features * RATE


def with_rate(rate: float) -> Callable[..., Any]:
    def helper(x: Any) -> Any:
        return x * rate

    def model_fn(features: Any, scale: float = 2.0) -> Any:
        return helper(features) * scale

    return model_fn


def recursive(depth: int) -> int:
    return 0 if depth == 0 else recursive(depth - 1)


def test_a_function_is_its_code_and_what_it_uses() -> None:
    assert difference(with_rate(0.1), with_rate(0.1)) is None
    assert difference(with_rate(0.1), with_rate(0.2)) == "x uses helper uses rate"
    assert difference(lambda x: x + 1, lambda x: x + 2) == "x"
    assert entries(uses_global)["x uses RATE"] == 0.1
    assert entries(with_rate(0.1))["x uses scale"] == 2.0
    partial = [functools.partial(uses_global, features=number) for number in (1, 2)]
    assert difference(*partial) == "x uses features"
    assert list(entries(recursive)) == ["x"]


def test_only_the_code_of_some_functions_is_compared() -> None:
    @dataclass(frozen=True)
    class Reader(Description):
        function: Annotated[Callable[..., Any], ValuesMayDiffer("It reads its own files.")]

    exceptions = Exceptions(between_tasks=True)
    one, other = (entries(Reader(with_rate(rate)), exceptions) for rate in (0.1, 0.2))
    assert one == other
    assert set(one) == {"x$function"}


def test_functions_of_tensorflow_are_known_by_name() -> None:
    code = code_of(np.mean)
    assert code is not None
    assert (code.language, code.code) == ("", "numpy.mean")


def test_an_r_function_is_what_r_says_about_it() -> None:
    def described(code: str, rate: float) -> dict[str, Any]:
        inner = {"language": "R 4.2", "code": "checksum 1", "uses": {"rate": rate}}
        known = {"language": "R 4.2", "code": code, "uses": {"helper": inner, "start": []}}
        return {"call": lambda: None, "formals": ["x"], "code": lambda: known}

    assert difference(described("a", 0.1), described("a", 0.1)) is None
    assert difference(described("a", 0.1), described("b", 0.1)) == "x"
    assert difference(described("a", 0.1), described("a", 0.2)) == "x uses helper uses rate"
    # One that R cannot describe.
    assert entries({"call": uses_global, "formals": [], "code": lambda: None})["x"]


def test_code_in_two_versions_of_a_language_is_not_compared() -> None:
    one = {"x": {"language": "R 4.2", "code": "checksum 1"}}
    assert first_difference(one, {"x": {"language": "R 4.3", "code": "checksum 2"}}) is None
    assert first_difference(one, {"x": {"language": "R 4.2", "code": "checksum 2"}}) is not None


def test_two_processes_have_the_same_entries() -> None:
    """Neither the order of sets nor addresses get into them."""
    code = (
        "import json, sys; sys.path[:0] = sys.argv[1:]\n"
        "from tfdistribute.descriptions.comparison import Exceptions, entries_of\n"
        "seen = {'a', 'b', 'c'}\n"
        "def f(x, also=print, o=object()): return x in {'p', 'q', 'r', 's'} or g(x)\n"
        "def g(x): return [each for each in seen if each]\n"
        "print(json.dumps(entries_of({'f': f, 's': seen}, 'x', Exceptions())))\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code, *sys.path],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": str(seed)},
            timeout=60,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(texts) == 1
