"""Distributed training of TensorFlow Estimators, on many devices and machines."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Public names, by their module. What model functions use starts TensorFlow when it is first used.
_MODULES = {
    "logical_device": "engine.model_parts",
    "logical_devices": "engine.model_parts",
    "pipeline": "engine.model_parts",
    "training_loop": "models.training_loop",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES[name]
    if module.startswith("engine."):
        # Prepares TensorFlow.
        _ = importlib.import_module(f"{__name__}.engine").tf
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
