"""Functions as R passes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def as_callback(function: Callable[..., Any], formals: Sequence[str] = ("x",)) -> dict[str, Any]:
    """Describe an R function: it returns a value, or the text of an error."""

    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return {"value": function(*args, **kwargs)}
        except Exception as error:  # noqa: BLE001
            return {"error": str(error)}

    return {"call": call, "formals": list(formals)}


def as_model_fn(model_fn: Callable[..., Any]) -> dict[str, Any]:
    """Describe an R model function, which also receives its configuration."""

    def call(features: Any, labels: Any, mode: str, config: Any) -> Any:
        return model_fn(features, labels, mode)

    return as_callback(call, ("features", "labels", "mode", "config"))
