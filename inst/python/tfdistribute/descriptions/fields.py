"""Fields of descriptions: the annotations of dataclasses as JSON Schema, by which values are read and checked.

A schema has keywords of JSON Schema for each option of a type, and ``$ref`` for a description, ``takes`` for a
function and ``instance`` for any other class. ``make docs`` writes what R checks from them.
"""

import dataclasses
import functools
import math
import operator
import re
import reprlib
import types
import typing
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Union, cast

from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions.constraints import Expected, Fact, Limit, Never, Not, Pattern
from tfdistribute.descriptions.words import in_words
from tfdistribute.errors import TfdistributeError, error_of

Option = dict[str, Any]

# Names of fields that hold R functions, where users know them by another name.
_IN_WORDS = {"function": "fn"}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "exclusiveMaximum": operator.lt,
    "minLength": lambda text, least: len(text) >= least,
    "minItems": lambda items, least: len(items) >= least,
    "maxItems": lambda items, most: len(items) <= most,
    "increasing": lambda items, how: all(
        a < b or (a == b and how == "weakly") for a, b in pairwise(items)
    ),
}


NO_DEFAULT = object()


class MisfitError(Exception):
    """A value has another type than its field, or is beyond its limits."""


class WrongTextError(Exception):
    """Text does not match a pattern: where it is, the text, and the pattern."""

    def __init__(self, place: str, text: str, pattern: Pattern) -> None:
        super().__init__(place, text, pattern)
        self.place, self.text, self.pattern = place, text, pattern


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
        options = [each for each in self.options if len(each) == 1]
        return tuple(
            of for of in (str, bool, int) for each in options if each.get("type") == _TYPES[of]
        )

    @functools.cached_property
    def options(self) -> list[Option]:
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
        return next((each["$ref"].how_made for each in self.options if "$ref" in each), None)

    def read(self, value: Any) -> Any:
        """Return a value as the field has it: 4.0 as 4, a mapping as a description, a single value as a tuple."""
        if value is self.default or type(value) in self.exact:
            return value
        if value is None and self.may_be_empty:
            value = []
        is_secret = Fact.SECRET in self.facts
        try:
            return fit_any(value, self.options, self.name)
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
            or (each.default == () and not _has_least_length(hints[each.name])),
        )
        for each in dataclasses.fields(cast(Any, of))
    }


def _has_least_length(hint: Any) -> bool:
    return any("minItems" in each for each in options_of(hint))


def options_of(hint: Any) -> list[Option]:
    """Return the options of a type; NULL first, which R finds most often."""
    limits = getattr(hint, "__metadata__", ())
    plain = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    if typing.get_origin(plain) in (Union, types.UnionType):
        options = [each for part in typing.get_args(plain) for each in options_of(part)]
        return sorted(options, key=lambda option: option.get("type") != "null")
    option = _option(plain)
    for limit in limits:
        given = vars(limit).items() if isinstance(limit, Limit) else ()
        option |= {name: each for name, each in given if each is not None and each is not False}
    patterns = [each for each in limits if isinstance(each, Pattern)]
    for excluded in (each.hint for each in limits if isinstance(each, Not)):
        option |= {"not": {"anyOf": options_of(excluded)}}
    option |= {marker: True for marker in ("python", "any") if marker in limits}
    return [option | ({"allOf": patterns} if patterns else {})]


def _option(plain: Any) -> Option:
    arguments, origin = typing.get_args(plain), typing.get_origin(plain)
    if plain is None or plain in _TYPES:
        return {"type": "null" if plain is None else _TYPES[plain]}
    if plain is Any or plain is object:
        return {}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": {"anyOf": options_of(arguments[0])}}
    if origin in (dict, Mapping):
        names, items = map(options_of, arguments)
        return {
            "type": "object",
            "propertyNames": names[0],
            "additionalProperties": {"anyOf": items},
        }
    if (origin or plain) is Callable:
        return {"function": True}
    is_description = hasattr(plain, "from_mapping")
    return {"$ref": plain} if is_description else {"instance": origin or plain}


def fit_any(value: Any, options: list[Option], place: str) -> Any:
    """Return a value as the first option has it that it fits.

    Raises:
        MisfitError: if it is not of one of the types, or beyond its limits.
        WrongTextError: if it is text that does not match a pattern.
    """
    for option in options:
        try:
            return _fit(value, option, place)
        except MisfitError:
            continue
    raise MisfitError


def _fit(value: Any, option: Option, place: str) -> Any:
    reader = _READERS.get(option.get("type", ""), _fit_other)
    fitted = reader(value, option, place)
    for keyword, limit in option.items():
        if keyword in _TESTS and not _TESTS[keyword](fitted, limit):
            raise MisfitError
    if "not" in option and _fits(fitted, option["not"]["anyOf"]):
        raise MisfitError
    for pattern in option.get("allOf", ()):
        if re.fullmatch(pattern.pattern, fitted) is None:
            raise WrongTextError(place, fitted, pattern)
    return fitted


def _fit_if(value: Any, fits: bool) -> Any:
    if fits:
        return value
    raise MisfitError


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _read_number(value: Any, option: Option, _place: str) -> float:
    is_fit = _is_number(value) and (math.isfinite(value) or "any" in option)
    return float(_fit_if(value, is_fit))


def _read_array(value: Any, option: Option, place: str) -> tuple[Any, ...]:
    values = cast(list[Any], value) if isinstance(value, (list, tuple)) else [value]
    return tuple(fit_any(each, option["items"]["anyOf"], place) for each in values)


def _read_object(value: Any, option: Option, place: str) -> dict[str, Any]:
    # R sends an empty named list as a list.
    given: Any = {} if value in ([], ()) else _fit_if(value, isinstance(value, Mapping))
    named = cast("Mapping[Any, Any]", given)
    return {
        _fit(str(name), option["propertyNames"], place): fit_any(
            each, option["additionalProperties"]["anyOf"], f"{place}${name}"
        )
        for name, each in named.items()
    }


_READERS: dict[str, Callable[[Any, Option, str], Any]] = {
    "null": lambda value, _, __: _fit_if(value, value is None),
    "boolean": lambda value, _, __: _fit_if(value, isinstance(value, bool)),
    "string": lambda value, _, __: _fit_if(value, isinstance(value, str)),
    "integer": lambda value, _, __: int(
        _fit_if(value, _is_number(value) and float(value).is_integer())
    ),
    "number": _read_number,
    "array": _read_array,
    "object": _read_object,
}


def _fit_other(value: Any, option: Option, place: str) -> Any:
    if "enum" in option:
        return _fit_if(
            value, any(value == each and type(value) is type(each) for each in option["enum"])
        )
    if "$ref" in option:
        if isinstance(value, option["$ref"]):
            return value
        return option["$ref"].from_mapping(_fit_if(value, isinstance(value, Mapping)), place)
    if "function" in option:
        function = as_callable(value, _IN_WORDS.get(place, place))
        return _fit_if(function, function is not None)
    return _fit_if(value, isinstance(value, option.get("instance", object)))


def break_rule(rule: Never, description: Any) -> None:
    """Raise the error of a rule if the fields of a description break it."""
    if _all_fit(description, rule.when):
        values = {name: getattr(description, name) for name in rule.when}
        shown = {
            name: f'"{each}"' if isinstance(each, str) else each for name, each in values.items()
        }
        value = str(values[rule.argument])
        raise error_of(rule.error)(
            rule.problem.format(**shown), rule.remedy, argument=rule.argument, value=value
        )


def _all_fit(description: Any, when: Mapping[str, Any]) -> bool:
    for name, hint in when.items():
        value = getattr(description, name, None)
        if isinstance(hint, dict):
            if not _all_fit(value, cast("dict[str, Any]", hint)):
                return False
            continue
        if not _fits(value, options_of(hint)):
            return False
    return True


def _fits(value: Any, options: list[Option]) -> bool:
    try:
        fit_any(value, options, "")
    except (MisfitError, WrongTextError):
        return False
    return True


def is_closed(options: list[Option]) -> bool:
    """Return whether values are only numbers and choices."""
    plain = ("null", "boolean", "integer", "number")
    return all(
        "enum" in each
        or each.get("type") in plain
        or (each.get("type") == "array" and is_closed(each["items"]["anyOf"]))
        for each in options
    )
