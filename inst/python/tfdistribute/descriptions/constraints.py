"""Annotations of fields beside their types: limits of values, facts, and rules between fields.

Limits follow the type that they limit, as in ``Annotated[int, Ge(1)] | None``. They have the names of the library
annotated-types. Facts follow the whole type, as in
``Annotated[float | None, MayDiffer("It decides how long a task waits.")]``.
"""

import enum
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any


class Limit:
    """A value beyond a limit is not what the field must be."""

    def holds(self, value: Any) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class _Bound(Limit):
    bound: float


class Ge(_Bound):
    def holds(self, value: Any) -> bool:
        return value >= self.bound


class Gt(_Bound):
    def holds(self, value: Any) -> bool:
        return value > self.bound


class Le(_Bound):
    def holds(self, value: Any) -> bool:
        return value <= self.bound


class Lt(_Bound):
    def holds(self, value: Any) -> bool:
        return value < self.bound


@dataclass(frozen=True)
class MinLen(Limit):
    least: int

    def holds(self, value: Any) -> bool:
        return len(value) >= self.least


@dataclass(frozen=True)
class Len(Limit):
    least: int
    most: int | None = None
    increasing: str | None = None  # "weakly" or "strictly".

    def holds(self, value: Any) -> bool:
        is_increasing = self.increasing is None or all(
            a < b or (a == b and self.increasing == "weakly") for a, b in pairwise(value)
        )
        return self.least <= len(value) <= (self.most or len(value)) and is_increasing


@dataclass(frozen=True)
class Not(Limit):
    excluded: Any

    def holds(self, value: Any) -> bool:
        return type(value) is not type(self.excluded) or value != self.excluded


@dataclass(frozen=True)
class Pattern(Limit):
    r"""Whole text, in regular expressions without ``\d``, ``\s``, ``\w``.

    ``problem`` is the message for other text, with {argument} and {value}, and ``error`` its kind.
    """

    pattern: str
    problem: str
    remedy: str | None = None
    error: str = "argument"

    def holds(self, value: Any) -> bool:
        return re.fullmatch(self.pattern, value) is not None


@dataclass(frozen=True)
class Takes:
    """Parameters with which R's function is called."""

    takes: tuple[str, ...]
    remedy: str | None = None


# Line breaks of any kind, and what terminals and shells act upon.
ONE_LINE = Pattern(
    "[^\x01-\x1f\x7f-\x9f\u2028\u2029]*",
    "`{argument}` must be text without line breaks and other control characters, not {value}.",
)
Text = Annotated[str, MinLen(1)]
Line = Annotated[str, MinLen(1), ONE_LINE]
Count = Annotated[int, Ge(1)]
Seconds = Annotated[float, Gt(0)]
# Also NaN and infinite, which R does not send.
AnyFloat = Annotated[float, "any"]
Given = Annotated[Any, Not(None)]
# An object of TensorFlow that R users make with Python, which is passed on unchanged.
PythonObject = Annotated[Any, Not(None), "python"]


class Fact(enum.Enum):
    CODE = "It decides which program runs, what it is told, or what else is read: no saved model may hold it."
    NAME = "Free text, or a mapping, that is only compared with known names."
    FILE = "The path of a file that a saved model contains."
    PATH = "A path, in which R replaces ~."
    SECRET = "Its values are not shown."  # noqa: S105
    STEP = "It changes how a training step of TensorFlow is computed."
    INTERNAL = "Set by this package: R has no such field."


@dataclass(frozen=True)
class MayDiffer:
    """Tasks of a cluster may set the field differently."""

    reason: str


@dataclass(frozen=True)
class ValuesMayDiffer:
    """Tasks of a cluster need the same code of the function, which may use different values."""

    reason: str


PLACE = MayDiffer(
    "It refers to a place, which may differ between machines; its content is compared."
)


@dataclass(frozen=True)
class Expected:
    """Words for the values of the field, in place of the words for its type."""

    words: str
    error: str = "argument"


class Never:
    """Fields that cannot have these values together.

    Args:
        when: Types by field, also of a field of a field. The rule is broken if all of them fit.
        problem: Message, in which {field} is the value of a field.
        argument: The field to blame; the first one of ``when`` by default.
        error: Kind of the error.
    """

    def __init__(
        self, when: dict[str, Any], problem: str, remedy: str, error: str = "argument"
    ) -> None:
        self.when, self.problem, self.remedy, self.error = when, problem, remedy, error
        self.argument = next(iter(when))


def exactly_one(one: str, other: str) -> tuple[Never, Never]:
    neither = f"Neither `{one}` nor `{other}` was given."
    return Never({one: None, other: None}, neither, "Give one of them."), excludes(one, other)


def both_or_none(one: str, other: str) -> tuple[Never, Never]:
    def alone(given: str, missing: str) -> Never:
        return Never(
            {given: Given, missing: None},
            f"`{given}` was given alone.",
            f"Give both `{one}` and `{other}`, or none.",
        )

    return alone(one, other), alone(other, one)


def excludes(one: str, other: str, error: str = "argument") -> Never:
    problem = f"`{one}` ({{{one}}}) and `{other}` ({{{other}}}) cannot both be given."
    return Never({one: Given, other: Given}, problem, "Leave one of them out.", error)
