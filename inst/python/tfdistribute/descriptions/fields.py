"""Types of fields: the annotations of dataclasses, by which values are read and checked.

A field has one or more options, such as a whole number or NULL. ``make docs`` writes what R checks from them.
"""

import dataclasses
import functools
import math
import reprlib
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, cast

from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions.constraints import Expected, Fact, Len, Limit, Never, Pattern, Takes
from tfdistribute.descriptions.words import in_words
from tfdistribute.errors import TfdistributeError, error_of

# Names of fields that hold R functions, where users know them by another name.
_IN_WORDS = {"function": "fn"}
_PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}

NO_DEFAULT = object()


class MisfitError(Exception):
    """A value has another type than its field, or is beyond its limits."""


class WrongTextError(Exception):
    """Text does not match a pattern: where it is, the text, and the pattern."""

    def __init__(self, place: str, text: str, pattern: Pattern) -> None:
        super().__init__(place, text, pattern)
        self.place, self.text, self.pattern = place, text, pattern


@dataclasses.dataclass(frozen=True)
class Option:
    """A type that a value may have, with the limits of the value.

    Args:
        kind: As in ``fit_type`` of R/description-check.R, or "object".
        of: Class of a description or an object.
        items: Options of the items of a list, or of the values of a mapping.
        names: Option of the names of a mapping.
    """

    kind: str
    marks: tuple[Any, ...] = ()
    of: type[Any] = object
    choices: tuple[Any, ...] = ()
    items: tuple["Option", ...] = ()
    names: "Option | None" = None

    def mark(self, of: type) -> Any:
        return next((each for each in self.marks if isinstance(each, of)), None)


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    hint: Any
    default: Any = NO_DEFAULT
    # Whether NULL stands for no values.
    may_be_empty: bool = False

    @property
    def is_required(self) -> bool:
        return self.default is NO_DEFAULT and not self.may_be_empty

    @functools.cached_property
    def exact(self) -> tuple[type, ...]:
        """Types whose values all are right as they are."""
        return tuple(of for of in (str, bool, int) if Option(_PLAIN[of]) in self.options)

    @functools.cached_property
    def options(self) -> tuple[Option, ...]:
        return options_of(self.hint)

    @functools.cached_property
    def facts(self) -> tuple[Any, ...]:
        return getattr(self.hint, "__metadata__", ())

    def fact(self, of: type) -> Any:
        return next((each for each in self.facts if isinstance(each, of)), None)

    @property
    def in_words(self) -> str:
        expected = self.fact(Expected)
        words = in_words(self.options) if expected is None else expected.words
        return words + (" or NULL" if self.may_be_empty else "")

    @property
    def how_made(self) -> str | None:
        return next((each.of.how_made for each in self.options if each.kind == "description"), None)

    def read(self, value: Any) -> Any:
        """Return a value as the field has it: 4.0 as 4, a mapping as a description, a single value as a tuple."""
        if value is self.default or type(value) in self.exact:
            return value
        if value is None and self.may_be_empty:
            value = []
        is_secret = Fact.SECRET in self.facts
        try:
            return read_as(self.options, value, self.name)
        except MisfitError:
            shown = None if is_secret else reprlib.repr(value)
            raise error_of(getattr(self.fact(Expected), "error", "argument"))(
                f"`{self.name}` must be {self.in_words}{'' if shown is None else f', not {shown}'}.",
                self.how_made,
                argument=self.name,
                value=shown,
            ) from None
        except WrongTextError as wrong:
            raise _wrong_text(wrong, is_secret) from None


def _wrong_text(wrong: WrongTextError, is_secret: bool) -> TfdistributeError:
    place, text, pattern = wrong.place, wrong.text, wrong.pattern
    problem = pattern.problem.replace(", not {value}", "") if is_secret else pattern.problem
    return error_of(pattern.error)(
        problem.format(argument=place, value=repr(text[:200])),
        pattern.remedy,
        argument=place,
        value=None if is_secret else text[:200],
    )


@functools.cache
def fields_of(of: type) -> dict[str, Field]:
    """Return the fields of a description by name."""
    hints = typing.get_type_hints(of, include_extras=True)
    return {
        each.name: Field(
            each.name,
            hints[each.name],
            NO_DEFAULT if each.default is dataclasses.MISSING else each.default,
            each.default_factory is not dataclasses.MISSING
            or (each.default == () and not any(o.mark(Len) for o in options_of(hints[each.name]))),
        )
        for each in dataclasses.fields(cast(Any, of))
    }


def options_of(hint: Any) -> tuple[Option, ...]:
    """Return the options of a type; NULL first, which R finds most often."""
    marks = getattr(hint, "__metadata__", ())
    plain = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    if typing.get_origin(plain) in (Union, types.UnionType):
        options = [each for part in typing.get_args(plain) for each in options_of(part)]
        return tuple(sorted(options, key=lambda option: option.kind != "null"))
    marks = tuple(each for each in marks if isinstance(each, (Limit, Takes, str)))
    return (dataclasses.replace(_option(plain, "python" in marks), marks=marks),)


def _option(plain: Any, is_python: bool) -> Option:
    arguments, origin = typing.get_args(plain), typing.get_origin(plain)
    if plain is None or plain in _PLAIN:
        return Option("null" if plain is None else _PLAIN[plain])
    if plain is Any or plain is object:
        return Option("python" if is_python else "any")
    if origin is Literal:
        return Option("choice", choices=arguments)
    if origin is tuple:
        return Option("list", items=options_of(arguments[0]))
    if origin in (dict, Mapping):
        return Option("named", items=options_of(arguments[1]), names=options_of(arguments[0])[0])
    if (origin or plain) is Callable:
        return Option("function")
    return Option("description" if hasattr(plain, "from_mapping") else "object", of=origin or plain)


def read_as(options: Sequence[Option], value: Any, place: str) -> Any:
    """Return a value as the first option has it that it fits.

    Raises:
        MisfitError: if it is not of one of the types, or beyond its limits.
        WrongTextError: if it is text that does not match a pattern.
    """
    for option in options:
        try:
            return _read(option, value, place)
        except MisfitError:
            continue
    raise MisfitError


def _read(option: Option, value: Any, place: str) -> Any:
    if option.kind in _TESTS and not _TESTS[option.kind](option, value):
        raise MisfitError
    found = _READERS[option.kind](option, value, place) if option.kind in _READERS else value
    for limit in option.marks:
        if isinstance(limit, Limit) and not limit.holds(found):
            if isinstance(limit, Pattern):
                raise WrongTextError(place, found, limit)
            raise MisfitError
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# Whether a value is of a kind.
_TESTS: dict[str, Callable[[Option, Any], bool]] = {
    "null": lambda _, value: value is None,
    "boolean": lambda _, value: isinstance(value, bool),
    "string": lambda _, value: isinstance(value, str),
    "integer": lambda _, value: _is_number(value) and float(value).is_integer(),
    "number": lambda option, value: (
        _is_number(value) and (math.isfinite(value) or "any" in option.marks)
    ),
    "choice": lambda option, value: any(
        value == each and type(value) is type(each) for each in option.choices
    ),
    # R sends an empty named list as a list.
    "named": lambda _, value: isinstance(value, Mapping) or value in ([], ()),
    "description": lambda option, value: isinstance(value, (option.of, Mapping)),
    "object": lambda option, value: isinstance(value, option.of),
}


def _read_list(option: Option, value: Any, place: str) -> tuple[Any, ...]:
    values = cast(list[Any], value) if isinstance(value, (list, tuple)) else [value]
    return tuple(read_as(option.items, each, place) for each in values)


def _read_named(option: Option, value: Any, place: str) -> dict[str, Any]:
    assert option.names is not None
    return {
        _read(option.names, str(name), place): read_as(option.items, each, f"{place}${name}")
        for name, each in dict(value).items()
    }


def _read_function(_: Option, value: Any, place: str) -> Any:
    function = as_callable(value, _IN_WORDS.get(place, place))
    if function is None:
        raise MisfitError
    return function


# How a value of a kind is read; other values stay as they are.
_READERS: dict[str, Callable[[Option, Any, str], Any]] = {
    "integer": lambda _, value, __: int(value),
    "number": lambda _, value, __: float(value),
    "list": _read_list,
    "named": _read_named,
    "description": lambda option, value, place: (
        value if isinstance(value, option.of) else option.of.from_mapping(value, place)
    ),
    "function": _read_function,
}


def check_rule(rule: Never, description: Any) -> None:
    """Raise the error of a rule if the fields of a description break it."""
    if _is_broken(rule.when, description):
        values = {name: getattr(description, name) for name in rule.when}
        shown = {
            name: f'"{each}"' if isinstance(each, str) else each for name, each in values.items()
        }
        value = str(values[rule.argument])
        raise error_of(rule.error)(
            rule.problem.format(**shown), rule.remedy, argument=rule.argument, value=value
        )


def _is_broken(when: Mapping[str, Any], description: Any) -> bool:
    for name, hint in when.items():
        value = getattr(description, name, None)
        if isinstance(hint, dict):
            if not _is_broken(cast("dict[str, Any]", hint), value):
                return False
            continue
        try:
            read_as(options_of(hint), value, "")
        except (MisfitError, WrongTextError):
            return False
    return True


def is_closed(options: Sequence[Option]) -> bool:
    """Return whether values are only numbers and choices."""
    plain = ("null", "boolean", "integer", "number", "choice")
    return all(
        each.kind in plain or (each.kind == "list" and is_closed(each.items)) for each in options
    )
