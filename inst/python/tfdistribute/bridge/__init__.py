"""The functions that R calls: plain values in, plain values out.

R calls :func:`call` only. It answers with data instead of raising, because an exception that crosses
reticulate loses its class: ``{"value": ...}``, ``{"error": {...}}`` or ``{"interrupt": True}``.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from typing import Any

from tfdistribute.bridge.functions import FUNCTIONS
from tfdistribute.errors import TfdistributeError, error_kinds


def call(name: str, arguments: Mapping[str, Any], tf_config: str | None = None) -> dict[str, Any]:
    """Call one function of the bridge and answer with data.

    Args:
        name: Name of the function, as in ``bridge/functions.py``.
        arguments: Its arguments by name.
        tf_config: R's TF_CONFIG, "" where it is not set; Python's copy of the environment is as old as its start.

    Returns:
        ``value``, or ``error`` with kind, kinds, problem, remedy, argument, value and traceback, or
        ``interrupt``.
    """
    if tf_config:
        os.environ["TF_CONFIG"] = tf_config
    elif tf_config is not None:
        os.environ.pop("TF_CONFIG", None)
    try:
        # An empty list of R arrives as a list, whatever names it might have had.
        return {"value": FUNCTIONS[name](**(arguments or {}))}
    except KeyboardInterrupt:
        return {"interrupt": True}
    except TfdistributeError as error:
        return {"error": _described(error)}
    except Exception as error:  # noqa: BLE001 - whatever TensorFlow raises reaches the R user as text
        return {"error": _foreign(error)}


def _described(error: TfdistributeError) -> dict[str, Any]:
    return {
        "kind": error.kind,
        "kinds": error_kinds(type(error)),
        "problem": error.problem,
        "remedy": error.remedy,
        "argument": error.argument,
        "value": error.value,
        "traceback": "".join(traceback.format_exception(error)),
    }


def _foreign(error: Exception) -> dict[str, Any]:
    return {
        "kind": "training",
        "kinds": ["training", "error"],
        "problem": f"{type(error).__name__}: {error}",
        "remedy": None,
        "argument": None,
        "value": None,
        "traceback": "".join(traceback.format_exception(error)),
    }
