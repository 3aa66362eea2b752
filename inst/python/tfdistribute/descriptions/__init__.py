"""Descriptions: typed dataclasses for what a user asks for, read from plain mappings.

The strategies, run configurations, feature columns, inputs and models of a user arrive as mappings such as
``{"kind": "mirrored", "devices": 2, ...}`` and become frozen dataclasses here. A family is a root class without a
kind; its members register themselves by their kind::

    class Strategy(Description): ...

    @dataclass(frozen=True)
    class Mirrored(Strategy, kind="mirrored"):
        devices: int | None = None

    read(Strategy, {"kind": "mirrored", "devices": 2.0})   # Mirrored(devices=2)
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import reprlib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar, Union, cast

from tfdistribute.callbacks import as_callable
from tfdistribute.errors import ArgumentError

D = TypeVar("D", bound="Description")

# Names of fields that hold R functions, where users know them by another name.
_IN_WORDS = {"function": "fn"}
# Line breaks of any kind, and what terminals and shells act upon.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# TensorFlow looks for checkpoints by patterns.
_PATTERN = re.compile(r"[*?\[]" if os.name == "nt" else r"[*?\[\\]")
_TYPES = {bool: "TRUE or FALSE", int: "a whole number", float: "a number", str: "a string"}


class Description:
    """Root of all descriptions. A direct subclass without a kind starts a family.

    Args:
        kind: Name of this member in its family; the value of "kind" in mappings.
    """

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Description]]] = {}

    def __init_subclass__(cls, kind: str | None = None) -> None:
        super().__init_subclass__()
        if kind is not None:
            cls.kind = kind
            cls.kinds[kind] = cls
        elif Description in cls.__bases__:
            cls.kinds = {}

    def content(self) -> Mapping[str, Any]:
        """Return the content that fields only refer to, such as files, for the comparison of two tasks."""
        return {}


def read(family: type[D], mapping: Mapping[str, Any], argument: str = "kind") -> D:
    """Make the member of a family, or of a class without kinds, that a mapping describes.

    A whole number in the form of 4.0 becomes 4, a single value becomes a tuple if its field is one, and nested mappings
    become nested descriptions.

    Args:
        mapping: Values by field name; "kind" selects the member.
        argument: The argument that the mapping is a value of, for the error about its kind.

    Raises:
        ArgumentError: if a kind or field is unknown, a field is missing, or a value has another type.
    """
    fields = {str(name): value for name, value in mapping.items() if name != "kind"}
    member = _member(family, mapping.get("kind"), argument)
    hints = type_hints(member)
    known = {field.name: field for field in dataclasses.fields(cast(Any, member))}
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise ArgumentError(
            f"`{unknown[0]}` is not a field of {_in_words(member)}.",
            f"Use only {', '.join(sorted(known))}.",
            argument=unknown[0],
        )
    for name, field in known.items():
        optional = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        if name not in fields and not optional:
            raise ArgumentError(f"{_in_words(member)} needs `{name}`.", argument=name)
    return member(**{name: coerce(value, hints[name], name) for name, value in fields.items()})


@functools.cache
def type_hints(of: Any) -> dict[str, Any]:
    """Return the types of the fields of a class, or of the arguments of a function, by name.

    Python derives them again each time, in half a millisecond, and a verb asks some fifty times.
    """
    return typing.get_type_hints(of)


def _in_words(member: type[Description]) -> str:
    return f"{member.kind or member.__name__} ({member.__name__})"


def _member(family: type[D], kind: Any, argument: str) -> type[D]:
    if not family.kinds:
        return family
    member = family.kinds.get(kind) if isinstance(kind, str) else None
    if member is None or not issubclass(member, family):
        shown = reprlib.repr(kind)
        raise ArgumentError(
            f"`{argument}` is {shown}, which is not a kind of {family.__name__}.",
            f"Use one of {', '.join(sorted(family.kinds))}.",
            argument=argument,
            value=shown,
        )
    return member


def coerce(value: Any, hint: Any, name: str) -> Any:
    """Return a value as its field's type has it.

    Args:
        value: The value, which may be 4.0 for a field of type int.
        hint: The field's type: a class, a union, ``tuple[T, ...]``, ``dict[str, T]``, a description or Any.

    Raises:
        ArgumentError: if the value is not of this type.
    """
    origin = typing.get_origin(hint)
    if hint is Any or hint is object:
        return value
    if origin in (Union, types.UnionType):
        return _coerce_union(value, typing.get_args(hint), name)
    if origin is tuple:
        return _coerce_tuple(value, typing.get_args(hint)[0], name)
    if origin in (dict, Mapping):
        # R sends an empty named list as a list.
        value = value or {}
        if not isinstance(value, Mapping):
            raise _misfit(value, "named values", name)
        inner = typing.get_args(hint)[1]
        return {
            str(key): coerce(item, inner, f"{name}${key}")
            for key, item in cast(Mapping[Any, Any], value).items()
        }
    if isinstance(hint, type) and issubclass(hint, Description):
        if isinstance(value, hint):
            return value
        if not isinstance(value, Mapping):
            raise _misfit(value, f"a {hint.__name__}", name)
        return read(hint, cast(Mapping[str, Any], value), name)
    return _coerce_plain(value, hint, name)


def _coerce_union(value: Any, options: tuple[Any, ...], name: str) -> Any:
    if value is None and type(None) in options:
        return None
    failure: ArgumentError | None = None
    for option in options:
        if option is type(None):
            continue
        try:
            return coerce(value, option, name)
        except ArgumentError as error:
            failure = failure or error
    raise failure or _misfit(value, "NULL", name)


def _coerce_tuple(value: Any, item: Any, name: str) -> tuple[Any, ...]:
    if value is None:
        raise _misfit(value, "one or more values", name)
    values = cast(list[Any], value) if isinstance(value, (list, tuple)) else [value]
    return tuple(coerce(each, item, name) for each in values)


def _coerce_plain(value: Any, hint: Any, name: str) -> Any:
    if hint is bool and isinstance(value, bool):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int and number and float(value).is_integer():
        return int(value)
    if hint is float and number:
        return float(value)
    if hint is str and isinstance(value, str):
        return value
    if hint is Callable or typing.get_origin(hint) is not None:
        function = as_callable(value, _IN_WORDS.get(name, name))
        if function is not None:
            return function
    raise _misfit(value, _TYPES.get(hint, "a function"), name)


def check_minimum(argument: str, value: float, minimum: float) -> None:
    if value < minimum:
        raise ArgumentError(
            f"`{argument}` must be at least {minimum:g}, not {value:g}.",
            argument=argument,
            value=f"{value:g}",
        )


def check_maximum(argument: str, value: float, maximum: float) -> None:
    if value > maximum:
        raise ArgumentError(
            f"`{argument}` must be at most {maximum:g}, not {value:g}.",
            argument=argument,
            value=f"{value:g}",
        )


def check_choice(argument: str, value: str, choices: Iterable[str]) -> None:
    if value not in choices:
        raise ArgumentError(
            f'`{argument}` must be one of {", ".join(choices)}, not "{value}".',
            argument=argument,
            value=value,
        )


def check_text(argument: str, value: object, remedy: str | None = None) -> None:
    """Raise ArgumentError if text has line breaks or other control characters.

    They would begin a new line in a script, a manifest or a command line. ``value`` is text, a tuple of it, or text by
    name, which may be secret. Anything else passes.
    """
    if isinstance(value, Mapping):
        wrong = [key for key, text in cast("Mapping[str, Any]", value).items() if _is_broken(text)]
        argument, shown = f"{argument}${wrong[0]}" if wrong else argument, None
    else:
        texts = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        wrong = [str(text) for text in texts if _is_broken(text)]
        shown = repr(wrong[0][:200]) if wrong else None
    if wrong:
        raise ArgumentError(
            f"`{argument}` must be text without line breaks and other control characters"
            f"{'' if shown is None else f', not {shown}'}.",
            remedy,
            argument=argument,
            value=shown,
        )


def _is_broken(text: object) -> bool:
    return isinstance(text, str) and _CONTROL.search(text) is not None


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
            argument=argument,
            value=shown,
        )


def _misfit(value: Any, expected: str, name: str) -> ArgumentError:
    return ArgumentError(
        f"`{name}` must be {expected}, not {reprlib.repr(value)}.",
        argument=name,
        value=reprlib.repr(value),
    )
