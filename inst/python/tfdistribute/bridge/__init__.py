"""The functions that R calls: plain values in, plain values out.

R calls :func:`call` only. It returns errors as data, because an exception that crosses reticulate loses its class:
``{"value": ...}``, ``{"error": {...}}`` or ``{"interrupt": True}``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tfdistribute.bridge.functions import FUNCTIONS
from tfdistribute.errors import as_values


def call(name: str, arguments: Mapping[str, Any], tf_config: str | None = None) -> dict[str, Any]:
    """Call one function of the bridge.

    Args:
        name: A key of ``FUNCTIONS``.
        arguments: Its arguments by name.
        tf_config: R's TF_CONFIG, "" if it is not set; Python's copy of the environment is as old as its start.

    Returns:
        ``value``, ``error`` as ``errors.as_values`` describes it, or ``interrupt``.
    """
    if tf_config:
        os.environ["TF_CONFIG"] = tf_config
    elif tf_config is not None:
        os.environ.pop("TF_CONFIG", None)
    try:
        # An empty list of R arrives as a list, with or without names.
        return {"value": FUNCTIONS[name](**(arguments or {}))}
    except KeyboardInterrupt:
        return {"interrupt": True}
    except Exception as error:  # noqa: BLE001 - whatever TensorFlow raises reaches the R user as text
        return {"error": as_values(error)}
