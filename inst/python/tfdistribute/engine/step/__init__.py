"""A training step as a value, and the passes that change how it is computed, not its result.

The modules of this package are imported on first use, after TensorFlow, because ``passes`` does not need TensorFlow.
"""

import importlib
import importlib.util
import sys
from typing import Any


def __getattr__(name: str) -> Any:
    module = f"{__name__}.{name}"
    if name.startswith("__") or importlib.util.find_spec(module) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _ = sys.modules[__name__.rpartition(".")[0]].tf
    return importlib.import_module(module)
