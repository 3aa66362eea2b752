"""Descriptions: typed dataclasses for what a user asks for, read from plain mappings.

The strategies, run configurations, feature columns, inputs and models of a user arrive as mappings such as
``{"kind": "mirrored", "devices": 2, ...}`` and become frozen dataclasses here. A family is a root class without a
kind; its members register themselves by their kind::

    class Strategy(Description): ...

    @dataclass(frozen=True)
    class Mirrored(Strategy, kind="mirrored"):
        devices: Annotated[int, Ge(1)] | None = None

    read(Strategy, {"kind": "mirrored", "devices": 2.0})   # Mirrored(devices=2)
    Mirrored(devices=0)   # ArgumentError: `devices` must be a whole number of at least 1 or NULL, not 0.
"""

import functools
import os
import re
import reprlib
import typing
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from tfdistribute.descriptions.constraints import Never
from tfdistribute.descriptions.fields import Field, check_rule, fields_of
from tfdistribute.errors import ArgumentError

D = TypeVar("D", bound="Description")

# Line breaks of any kind, and what terminals and shells act upon.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# TensorFlow looks for checkpoints by patterns.
_PATTERN = re.compile(r"[*?\[]" if os.name == "nt" else r"[*?\[\\]")


class Description:
    """Root of all descriptions. A direct subclass without a kind starts a family.

    The fields are checked by their annotations, see ``constraints``, however a description is made.

    Args:
        kind: Name of this member in its family; the value of "kind" in mappings.
    """

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, "type[Description]"]] = {}
    # What a field must be that holds one of the family, and how to make one.
    in_words: ClassVar[str] = ""
    how_made: ClassVar[str | None] = None
    # Why the tasks of a cluster may have different ones; None if they may not.
    may_differ: ClassVar[str | None] = None
    rules: ClassVar[tuple[Never, ...]] = ()

    def __init_subclass__(cls, kind: str | None = None) -> None:
        super().__init_subclass__()
        if kind is not None:
            cls.kind = kind
            cls.kinds[kind] = cls
        elif Description in cls.__bases__:
            cls.kinds = {}

    def __post_init__(self) -> None:
        for name, field in fields_of(type(self)).items():
            value = getattr(self, name)
            fitted = field.read(value)
            if fitted is not value:
                object.__setattr__(self, name, fitted)
        for rule in self.rules:
            check_rule(rule, self)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], argument: str) -> "Description":
        return read(cls, mapping, argument)

    def content(self) -> Mapping[str, Any]:
        """Return the content that fields only refer to, such as files, for the comparison of two tasks."""
        return {}


def read(family: type[D], mapping: Mapping[str, Any], argument: str = "kind") -> D:
    """Make the member of a family, or of a class without kinds, that a mapping describes.

    Args:
        mapping: Values by field name; "kind" selects the member.
        argument: The argument that the mapping is a value of, for the error about its kind.

    Raises:
        ArgumentError: if a kind or field is unknown, a field is missing, or a value has another type.
    """
    fields = {str(name): value for name, value in mapping.items() if name != "kind"}
    member = _member(family, mapping.get("kind"), argument)
    known = fields_of(member)
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise ArgumentError(
            f"`{unknown[0]}` is not a field of {_in_words(member)}.",
            f"Use only {', '.join(sorted(known))}.",
        )
    for name, field in known.items():
        if name not in fields and field.is_required:
            raise ArgumentError(f"{_in_words(member)} needs `{name}`.", argument=name)
    return member(**fields)


def coerce(value: Any, hint: Any, name: str) -> Any:
    """Return a value as its type has it; ArgumentError if it is not of this type."""
    return Field(name, hint).read(value)


@functools.cache
def type_hints(of: Any) -> dict[str, Any]:
    """Return the types of the fields of a class, or of the arguments of a function, by name.

    Python derives them again each time, in half a millisecond, and a verb asks some fifty times.
    """
    return typing.get_type_hints(of, include_extras=True)


def _in_words(member: type[Description]) -> str:
    return f"{member.kind or member.__name__} ({member.__name__})"


def _member(family: type[D], kind: Any, argument: str) -> type[D]:
    if not family.kinds:
        return family
    member = family.kinds.get(kind) if isinstance(kind, str) else None
    if member is not None and not issubclass(member, family):
        raise ArgumentError(f"`{argument}` must be {family.in_words}, not {kind}.", value=kind)
    if member is None:
        shown = reprlib.repr(kind)
        raise ArgumentError(
            f"`{argument}` is {shown}, which is not a kind of {family.__name__}.",
            f"Use one of {', '.join(sorted(family.kinds))}.",
            value=shown,
        )
    return member


def check_choice(argument: str, value: str, choices: Iterable[str]) -> None:
    if value not in choices:
        raise ArgumentError(
            f'`{argument}` must be one of {", ".join(choices)}, not "{value}".',
            value=value,
        )


def check_text(argument: str, value: str | tuple[str, ...], remedy: str | None = None) -> None:
    """Raise ArgumentError if text has line breaks or other control characters.

    They would begin a new line in a script, a manifest or a command line.
    """
    texts = value if isinstance(value, tuple) else (value,)
    wrong = next((text for text in texts if _CONTROL.search(text)), None)
    if wrong is not None:
        shown = repr(wrong[:200])
        raise ArgumentError(
            f"`{argument}` must be text without line breaks and other control characters, not {shown}.",
            remedy,
            value=shown,
        )


def check_directory(argument: str, path: str) -> None:
    """Raise ArgumentError if TensorFlow could not read checkpoints in a directory of this name."""
    check_text(argument, path, "Use a directory with another name.")
    match = _PATTERN.search(path)
    if match is not None:
        shown = repr(path[:200])
        raise ArgumentError(
            f"`{argument}` must be a path without {match[0]!r}, which TensorFlow reads as part of a pattern, not "
            f"{shown}.",
            "Use a directory with another name.",
            value=shown,
        )
