"""User functions that TensorFlow calls, and the names of their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from tfdistribute.errors import CallbackError


class Callback:
    """An R function as a Python callable, whose errors are CallbackErrors.

    R errors cannot pass through TensorFlow, so the function returns a mapping with a ``value``, the text of an
    ``error`` with R's ``traceback``, or ``interrupt``. R keeps the condition itself, and makes it the parent of the
    condition that the user sees.

    Args:
        formals: Names of the R function's parameters, including ``...``.
    """

    def __init__(self, call: Callable[..., Mapping[str, Any]], formals: tuple[str, ...]) -> None:
        self.call = call
        self.formals = formals

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            CallbackError: the R function failed.
            KeyboardInterrupt: the user interrupted the R function.
        """
        answer = self.call(*args, **kwargs)
        if answer.get("interrupt"):
            raise KeyboardInterrupt
        if answer.get("error") is not None:
            error = CallbackError(
                str(answer["error"]), "Correct the function that was passed from R."
            )
            error.r_traceback = answer.get("traceback")
            raise error
        return answer.get("value")


def as_callable(value: Any) -> Callable[..., Any] | None:
    """Return a function from a Python callable or the mapping of an R function; None for other values."""
    if isinstance(value, Mapping):
        mapping = cast(Mapping[str, Any], value)
        if "call" not in mapping:
            return None
        return Callback(mapping["call"], tuple(mapping.get("formals") or ()))
    return value if callable(value) else None


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name, or accepts any."""
    if isinstance(function, Callback):
        return name in function.formals or "..." in function.formals
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
