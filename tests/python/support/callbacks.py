"""Functions as R hands them over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def as_callback(function: Callable[..., Any], formals: Sequence[str] = ("x",)) -> dict[str, Any]:
    """Describe a function of R: its answer is a value, or the text of an error."""

    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return {"value": function(*args, **kwargs)}
        except Exception as error:  # noqa: BLE001
            return {"error": str(error)}

    return {"call": call, "formals": list(formals)}


def as_model_fn(model_fn: Callable[..., Any]) -> dict[str, Any]:
    """Describe a model function of R, which is given its configuration too."""

    def call(features: Any, labels: Any, mode: str, config: Any) -> Any:
        return model_fn(features, labels, mode)

    return as_callback(call, ("features", "labels", "mode", "config"))
