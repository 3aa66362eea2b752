"""The code of a function and the values that it uses, so that two processes can compare their functions."""

import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from tfdistribute.checksums import checksum

# Functions of these packages are compared by name.
_LIBRARIES = ("builtins", "keras", "numpy", "tensorflow", "tf_keras")
_FIELDS = {"language", "code", "uses"}


@dataclass(frozen=True)
class Code:
    """A function without its process.

    Args:
        language: Language with its version, which decides how code is represented; empty if the name is compared.
        code: Checksum of the code, or the name of a class, or of a function of TensorFlow.
        uses: Variables that the function finds outside its own code, and defaults of its arguments, by name.
    """

    language: str
    code: str
    uses: Mapping[str, Any]

    @classmethod
    def from_values(cls, values: Any) -> "Code | None":
        """Read R's facts about a function; None for anything else."""
        if not isinstance(values, Mapping) or set(cast("Mapping[str, Any]", values)) != _FIELDS:
            return None
        known = cast("Mapping[str, Any]", values)
        # R sends an empty named list as a list.
        return cls(str(known["language"]), str(known["code"]), dict(known["uses"] or {}))


def code_of_python(function: Callable[..., Any]) -> Code | None:
    """Return the code of a Python function; None for a callable object of another kind."""
    if isinstance(function, functools.partial):
        inner = code_of_python(function.func)
        given = {"args": function.args, **function.keywords}
        return inner and Code(inner.language, inner.code, {**inner.uses, **given})
    module = str(getattr(function, "__module__", ""))
    name = getattr(function, "__qualname__", None)
    is_known = module.partition(".")[0] in _LIBRARIES
    if name is not None and (is_known or isinstance(function, type)):
        return Code("", f"{module}.{name}", {})
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, types.FunctionType):
        return None
    parts = list(_parts(plain.__code__))
    language = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return Code(language, checksum(repr(part).encode() for part in parts), _used(plain, parts))


def _parts(code: types.CodeType) -> Iterator[tuple[Any, ...]]:
    """Yield the instructions, constants and names of a function and of its inner functions, without their places."""
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    constants = [_constant(each) for each in code.co_consts if not isinstance(each, types.CodeType)]
    yield code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
    for each in inner:
        yield from _parts(each)


def _constant(value: Any) -> str:
    # The order of a set differs between processes.
    if isinstance(value, frozenset):
        return str(sorted(map(repr, cast("frozenset[Any]", value))))
    return repr(value)


def _used(function: types.FunctionType, parts: list[tuple[Any, ...]]) -> dict[str, Any]:
    used = dict(_enclosed(function))
    for name in dict.fromkeys(name for part in parts for name in part[2]):
        if name in function.__globals__:
            used.setdefault(name, function.__globals__[name])
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    used.update(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    used.update(function.__kwdefaults__ or {})
    return {name: value for name, value in used.items() if not isinstance(value, types.ModuleType)}


def _enclosed(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            # The variable is set later.
            continue
