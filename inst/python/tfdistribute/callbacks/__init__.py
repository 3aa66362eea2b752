"""User functions that TensorFlow calls, and the names of their parameters."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from tfdistribute import errors
from tfdistribute.callbacks.code import Code, code_of_python
from tfdistribute.callbacks.idioms import idiom_for
from tfdistribute.errors import CallbackError, TfdistributeError

_OWN_ERROR = re.compile(r"tfdistribute\.errors\.(\w+Error): (.*?)(?:\n\n|$)", re.DOTALL)


class Callback:
    """An R function as a Python callable, whose errors are CallbackErrors.

    R errors cannot pass through TensorFlow, so the function returns a mapping with a ``value``, the text of an
    ``error``, or ``interrupt``. R keeps the condition itself, and makes it the parent of the condition that the user
    sees.

    Args:
        formals: Names of the R function's parameters, including ``...``.
        name: The argument that holds the function, as users write it; None if it is not known.
        code: Returns the fields of a ``Code`` for the R function; None if R does not offer it.
    """

    def __init__(
        self,
        call: Callable[..., Mapping[str, Any]],
        formals: tuple[str, ...],
        name: str | None = None,
        code: Callable[[], Any] | None = None,
    ) -> None:
        self.call = call
        self.formals = formals
        self.name = name
        self.code = code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            CallbackError: the R function failed.
            TfdistributeError: Python code that the R function called has raised an error of this package.
            KeyboardInterrupt: the user interrupted the R function.
        """
        answer = self.call(*args, **kwargs)
        if answer.get("interrupt"):
            raise KeyboardInterrupt
        if answer.get("error") is not None:
            raise _error(answer, self.name)
        return answer.get("value")


def _error(answer: Mapping[str, Any], name: str | None) -> TfdistributeError:
    """Make the error of an R function from its ``error``, ``place``, ``remedy``, ``absent`` and ``traceback``."""
    text = str(answer["error"])
    own = _own_error(text)
    if own is not None:
        return own
    subject = "An R function" if name is None else f"`{name}`"
    error = CallbackError(
        f"{subject} failed{answer.get('place') or ''}: {text}",
        None
        if answer.get("has_remedy")
        else _absent(answer.get("absent"), text) or idiom_for(text),
        argument=name,
    )
    error.text = text
    error.r_traceback = answer.get("traceback")
    return error


def _own_error(text: str) -> TfdistributeError | None:
    """Rebuild an error of this package from the text that reticulate makes of it."""
    found = _OWN_ERROR.search(text)
    if found is None:
        return None
    kind, lines = found[1], found[2].strip().split("\n")
    member = getattr(errors, kind, errors.TrainingError)
    return member(lines[0], lines[1] if len(lines) > 1 and lines[1] else None)


def _absent(absent: Mapping[str, Any] | None, text: str) -> str | None:
    """Name the feature that a function asked for in vain, if that may be the reason."""
    if absent is None or not re.search(
        r"None values not supported|NoneType|of length zero|not an empty", text
    ):
        return None
    name, known = str(absent["name"]), absent["features"]
    known = [known] if isinstance(known, str) else list(known)
    near = difflib.get_close_matches(name, known, n=1)
    guess = f" Did you mean features${near[0]}?" if near else ""
    return f"features${name} is NULL: the features are {', '.join(known)}.{guess}"


def as_callable(value: Any, name: str | None = None) -> Callable[..., Any] | None:
    """Return a function from a Python callable or the mapping of an R function; None for other values."""
    if isinstance(value, Mapping):
        mapping = cast(Mapping[str, Any], value)
        if "call" not in mapping:
            return None
        formals = tuple(mapping.get("formals") or ())
        return Callback(mapping["call"], formals, name, mapping.get("code"))
    return value if callable(value) else None


def code_of(function: Callable[..., Any]) -> Code | None:
    """Return the code of a function, in R or Python, and the values that it uses; None if it cannot be compared."""
    if isinstance(function, Callback) and function.code is not None:
        return Code.from_values(function.code())
    return code_of_python(function.call if isinstance(function, Callback) else function)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name, or accepts any."""
    if isinstance(function, Callback):
        return name in function.formals or "..." in function.formals
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
