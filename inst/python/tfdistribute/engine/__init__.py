"""The only door to TensorFlow and to its private parts.

Other packages write ``from tfdistribute import engine`` and reach TensorFlow as ``engine.tf`` and the
modules of this package as ``engine.devices`` and so on. Nothing is imported before it is used, so that
descriptions, checks and plans answer without TensorFlow.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from tfdistribute.errors import BackendError


def is_started() -> bool:
    """Say whether TensorFlow has been imported into this process.

    Returns:
        True when somebody, in this package or outside it, has imported TensorFlow.
    """
    return "tensorflow" in sys.modules


def tf_config_at_start() -> str:
    """Say what TF_CONFIG was when TensorFlow was started.

    Returns:
        Its text; where others started TensorFlow, what it was when the process was started; blank for none.
    """
    return _noted.get("TF_CONFIG", _first_tf_config()).strip()


# TF_CONFIG when this package brought TensorFlow into the process; empty while it has not.
_noted: dict[str, str] = {}


def _first_tf_config() -> str:
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return os.environ.get("TF_CONFIG", "")
    found = [entry for entry in entries if entry.startswith(b"TF_CONFIG=")]
    return os.fsdecode(found[0].partition(b"=")[2]) if found else ""


def _import_tensorflow() -> Any:
    # TensorFlow reads its log level when it is imported; informational lines are noise in an R console.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if not is_started():
        _noted["TF_CONFIG"] = os.environ.get("TF_CONFIG", "")
    try:
        tensorflow = importlib.import_module("tensorflow")
        importlib.import_module("tensorflow_estimator")
    except ImportError as error:
        raise BackendError(
            f"TensorFlow cannot be imported by {sys.executable}: {error}.",
            "Run install_tfdistribute() in R, or `pip install tensorflow==2.15.1 tensorflow-estimator==2.15.0`.",
        ) from error
    importlib.import_module("tfdistribute.engine.start").prepare(tensorflow)
    importlib.import_module("tfdistribute.engine.repairs.call_location").install()
    return tensorflow


def __getattr__(name: str) -> Any:
    """Import TensorFlow (``tf``) or a module of this package on first use."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "tf":
        value = _import_tensorflow()
    else:
        module = f"{__name__}.{name}"
        if importlib.util.find_spec(module) is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        _ = sys.modules[__name__].tf
        value = importlib.import_module(module)
    globals()[name] = value
    return value
