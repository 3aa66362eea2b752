"""The functions that R calls: plain values in, plain values out.

R calls :func:`start` once, and then :func:`call` only. That returns errors as data, because an exception that crosses
reticulate loses its class: ``{"value": ...}``, ``{"error": {...}}``, or ``{"interrupt": True}`` with a ``text`` for the
user or None.
"""

import contextlib
import importlib
import os
from collections.abc import Mapping
from typing import Any

from tfdistribute.bridge import r_calls
from tfdistribute.descriptions import coerce, type_hints
from tfdistribute.engine.step import passes
from tfdistribute.errors import as_values
from tfdistribute.interrupts import raise_on_interrupt

r_calls.install()


def start() -> None:
    _functions()


def _functions() -> Any:
    return importlib.import_module("tfdistribute.bridge.functions")


def call(
    name: str,
    arguments: Mapping[str, Any],
    tf_config: str | None = None,
    passes_off: str | None = None,
) -> dict[str, Any]:
    """Call one function of the bridge; return ``value``, ``error`` (see ``errors.as_values``) or ``interrupt``.

    With the ``value``, ``new_labels`` are what R warns of, as from ``new_labels.take()``.
    Arguments are converted to the types of the function's parameters: 4.0 becomes 4, a mapping becomes a description.
    ``tf_config`` is R's, "" if it is not set; Python's copy of the environment dates from its start.
    """
    if tf_config:
        os.environ["TF_CONFIG"] = tf_config
    elif tf_config is not None:
        os.environ.pop("TF_CONFIG", None)
    if passes_off is not None:
        passes.switch_off(passes_off)
    functions = _functions()
    try:
        function = functions.FUNCTIONS[name]
        types = type_hints(function)
        # An empty R list arrives as a list, with or without names.
        values = {
            key: coerce(each, types.get(key, Any), key) for key, each in (arguments or {}).items()
        }
        with raise_on_interrupt() if name in functions.INTERRUPTIBLE else contextlib.nullcontext():
            return {"value": function(**values), "new_labels": functions.take_new_labels()}
    except KeyboardInterrupt as interrupt:
        return {"interrupt": True, "text": str(interrupt) or None}
    except Exception as error:  # noqa: BLE001 - whatever TensorFlow raises reaches the R user as text
        functions.take_new_labels()
        return {"error": as_values(error)}
