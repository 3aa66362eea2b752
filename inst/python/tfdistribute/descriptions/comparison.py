"""Comparison of descriptions across processes: flat entries, derived from every field of every description.

Compared are numbers, text, arrays, functions (see ``callbacks.code``), objects with ``get_config()``, and collections
and descriptions of all these. Other objects are not, nor are absolute paths among the values of functions, because
machines may keep the same file at different places.
"""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tfdistribute.callbacks import as_callable, code_of
from tfdistribute.callbacks.code import Code
from tfdistribute.checksums import checksum
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import MayDiffer, ValuesMayDiffer
from tfdistribute.descriptions.fields import fields_of

# JSON-ready values by path, such as "object$optimizer$settings$learning_rate". A variable of a function follows the
# path of the function: "object$model_fn uses rate". The entry of the function itself has a `language` and a `code`.
Entries = dict[str, Any]
USES = " uses "

_MOST_CHARACTERS, _MOST_VALUES, _MOST_ENTRIES, _MOST_LEVELS = 80, 8, 1000, 20
_MISSING = "nothing"


@dataclass(frozen=True)
class Exceptions:
    """Exceptions from the comparison.

    Args:
        left_out: Classes of descriptions.
        between_tasks: Whether the facts of fields and descriptions count: what may differ between tasks is left out.
    """

    left_out: tuple[type, ...] = ()
    between_tasks: bool = False

    def leaves_out(self, value: Any) -> bool:
        if isinstance(value, self.left_out):
            return True
        return self.between_tasks and getattr(value, "may_differ", None) is not None

    def has_fact(self, value: Any, name: str, fact: type) -> bool:
        return (
            self.between_tasks
            and fields_of(cast("type", value.__class__))[name].fact(fact) is not None
        )


def entries_of(value: Any, path: str, exceptions: Exceptions) -> Entries:
    made = _Entries(exceptions)
    made.add(path, value)
    return made.entries


def checksum_of(entries: Entries) -> str:
    return checksum([json.dumps(entries).encode()])


def first_difference(one: Entries, other: Entries) -> tuple[str, Any, Any] | None:
    for path in dict.fromkeys([*one, *other]):
        first, second = one.get(path, _MISSING), other.get(path, _MISSING)
        if first != second and not _in_other_languages(first, second):
            return path, first, second
    return None


class _Entries:
    def __init__(self, exceptions: Exceptions, seen: dict[int, Any] | None = None) -> None:
        self.entries: Entries = {}
        self._exceptions = exceptions
        # Functions may use each other. Keeping them prevents the reuse of their identities.
        self._seen = dict[int, Any]() if seen is None else seen

    def add(self, path: str, value: Any, code_only: bool = False, paths_too: bool = False) -> None:
        value = _plain(value)
        if value is None or isinstance(value, (bool, int, float, str)):
            if paths_too or not _is_path(value):
                self.entries[path] = _show(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            self._add_description(path, value)
        elif hasattr(value, "get_config") and not isinstance(value, type):
            self.entries[path] = type(value).__name__
            self._add_parts(path, _config(value))
        elif (function := as_callable(value)) is not None:
            self._add_function(path, function, code_only)
        elif isinstance(value, (Mapping, list, tuple)):
            self._add_collection(path, value, paths_too)
        elif isinstance(value, np.ndarray):
            self._add_array(path, value)

    def _add_description(self, path: str, value: Any) -> None:
        is_description = isinstance(value, Description)
        if self._is_left_out(value):
            return
        if is_description and value.kind:
            self.entries[path] = value.kind
        for each in dataclasses.fields(value):
            if not self._exceptions.has_fact(value, each.name, MayDiffer):
                code_only = self._exceptions.has_fact(value, each.name, ValuesMayDiffer)
                # Fields that are paths have their exceptions: in others, such as labels, "/a" is only text.
                self.add(
                    _inside(path, each.name), getattr(value, each.name), code_only, is_description
                )
        if is_description:
            self._add_parts(path, value.content())

    def _add_function(self, path: str, function: Callable[..., Any], code_only: bool) -> None:
        code = code_of(function)
        if code is None:
            self.entries[path] = f"object of class {type(function).__qualname__}"
        elif id(function) not in self._seen:
            self._seen[id(function)] = function
            self._add_code(path, code, code_only)

    def _add_code(self, path: str, code: Code, code_only: bool = False) -> None:
        self.entries[path] = {"language": code.language, "code": code.code}
        if not code_only:
            self._add_parts(path, code.uses, USES)

    def _add_collection(self, path: str, value: Any, paths_too: bool) -> None:
        code = Code.from_values(value)
        if code is not None:
            self._add_code(path, code)
        elif isinstance(value, Mapping):
            self._add_parts(path, cast("Mapping[Any, Any]", value))
        else:
            self._add_sequence(path, cast("Sequence[Any]", value), paths_too)

    def _add_sequence(self, path: str, value: Sequence[Any], paths_too: bool = False) -> None:
        values = [_plain(each) for each in value if not self._is_left_out(each)]
        if all(each is None or isinstance(each, (bool, int, float, str)) for each in values):
            shown = [_show(each) for each in values if paths_too or not _is_path(each)]
            self.entries[path] = shown if len(shown) <= _MOST_VALUES else _summary(shown, "values")
            return
        names = getattr(value, "_fields", None) or [f"[{n + 1}]" for n in range(len(values))]
        self._add_parts(path, dict(zip(names, values, strict=True)))

    def _is_left_out(self, value: Any) -> bool:
        return self._exceptions.leaves_out(value)

    def _add_array(self, path: str, value: Any) -> None:
        if value.dtype.hasobject:
            self._add_sequence(path, value.ravel().tolist())
        else:
            content = checksum([value.tobytes()])
            self.entries[path] = f"{value.dtype} of shape {list(value.shape)}, {content}"

    def _add_parts(self, path: str, parts: Mapping[Any, Any], how: str = "$") -> None:
        """Add named parts; one entry stands for very many of them, or for deep ones."""
        inner = _Entries(self._exceptions, self._seen)
        if path.count("$") + path.count(USES) < _MOST_LEVELS:
            for name, each in parts.items():
                inner.add(_inside(path, str(name), how), each)
        if len(inner.entries) > _MOST_ENTRIES:
            self.entries[path] = _summary(inner.entries, "entries")
        else:
            self.entries.update(inner.entries)


def _inside(path: str, name: str, how: str = "$") -> str:
    return f"{path}{name}" if name.startswith("[") else f"{path}{how}{name}"


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, cast("set[Any]", value)))
    if isinstance(value, bytes):
        return checksum([value])
    return value.item() if isinstance(value, np.generic) else value


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and (os.path.isabs(value) or value.startswith("~/"))


def _config(value: Any) -> Mapping[str, Any]:
    try:
        return dict(value.get_config())
    except (NotImplementedError, TypeError, ValueError):
        return {}


def _show(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, str) and len(value) > _MOST_CHARACTERS:
        return f"{value[:20]}..., {checksum([value.encode('utf-8', 'surrogatepass')])}"
    return value


def _summary(values: Any, what: str) -> str:
    return f"{len(values)} {what}, {checksum([json.dumps(values).encode()])}"


def _in_other_languages(first: Any, second: Any) -> bool:
    """Return whether two entries are code in two versions of a language, which cannot be compared."""
    return (
        isinstance(first, dict)
        and isinstance(second, dict)
        and cast("Entries", first)["language"] != cast("Entries", second)["language"]
    )
