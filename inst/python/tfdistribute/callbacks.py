"""Functions of the user that TensorFlow calls, with the names of their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from tfdistribute.errors import CallbackError


class Callback:
    """A function from R: called by position or name, its error raised as CallbackError.

    R cannot let its errors cross TensorFlow, so the function answers with a mapping that holds ``value``, the
    text of an ``error`` with R's ``traceback``, or ``interrupt``. The R condition itself stays in R, which makes it
    the parent of the condition that the user sees.

    Args:
        call: Callable that answers ``{"value": ...}``, ``{"error": text}`` or ``{"interrupt": True}``.
        formals: Names of the R function's parameters, ``...`` included.
    """

    def __init__(self, call: Callable[..., Mapping[str, Any]], formals: tuple[str, ...]) -> None:
        self.call = call
        self.formals = formals

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Returns:
            What the R function returned.

        Raises:
            CallbackError: the R function raised an error.
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
    """Recognise a function: a Python callable, or the mapping that stands for an R function.

    Args:
        value: Anything.

    Returns:
        A callable, or None where the value is no function.
    """
    if isinstance(value, Mapping):
        mapping = cast(Mapping[str, Any], value)
        if "call" not in mapping:
            return None
        return Callback(mapping["call"], tuple(mapping.get("formals") or ()))
    return value if callable(value) else None


def takes(function: Callable[..., Any], name: str) -> bool:
    """Say whether a function can be given an argument by this name.

    Args:
        function: A Callback or any Python callable.
        name: The parameter's name.

    Returns:
        True when the function has such a parameter or takes any.
    """
    if isinstance(function, Callback):
        return name in function.formals or "..." in function.formals
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
