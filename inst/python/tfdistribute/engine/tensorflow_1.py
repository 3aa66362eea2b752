"""Names that TensorFlow 1 had and TensorFlow 2 does not, and what replaces them."""

import difflib
import functools
import re
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.errors import ArgumentError, TfdistributeError, UnsupportedError

# Replacements for names that tf.compat.v1 does not have either; the first match wins.
_GONE: Sequence[tuple[str, str]] = (
    (
        r"contrib\b",
        "Its layers are in tf$compat$v1$layers, and its estimators and strategies in this package.",
    ),
    (r"python\b", "Use the public name of the function, under tf or tf$compat$v1."),
)
_APIS = ("tensorflow._api.v2.", "tensorflow_estimator.python.estimator.api._v2.")


def explain_missing_names() -> None:
    """Make TensorFlow's modules explain the names that they do not have, whatever the way of R's access."""
    for name, module in list(sys.modules.items()):
        api = next((each for each in _APIS if name.startswith(each)), None)
        if name == "tensorflow" or (api is not None and ".compat." not in f"{name}."):
            path = [] if api is None else name.removeprefix(api).split(".")
            vars(module)["__getattr__"] = functools.partial(_explain, path)


def _explain(path: Sequence[str], name: str) -> Any:
    # Python asks for names with underscores itself.
    raise AttributeError(name if name.startswith("_") else str(missing_name([*path, name])))


def missing_name(path: Sequence[str]) -> TfdistributeError:
    """Explain why TensorFlow lacks a name, in parts. The error is an UnsupportedError if TensorFlow 1 has it."""
    r_name = _in_r(path)
    first_version = (
        f"{r_name} belongs to TensorFlow 1, and TensorFlow {tf.__version__} does not have it."
    )
    for parts in (path, path[1:] if path[0] == "keras" else ()):
        if parts and _has(tf.compat.v1, parts):
            return UnsupportedError(
                first_version,
                f"Use {_in_r(['compat', 'v1', *parts])}.",
                argument="tf",
                value=r_name,
            )
    for pattern, remedy in _GONE:
        if re.match(pattern, ".".join(path)):
            return UnsupportedError(first_version, remedy, argument="tf", value=r_name)
    module = _find(tf, path[:-1])
    near = difflib.get_close_matches(path[-1], dir(module) if module else (), n=1)
    return ArgumentError(
        f"TensorFlow {tf.__version__} has no {r_name}.",
        f"Did you mean {_in_r([*path[:-1], near[0]])}?" if near else None,
        argument="tf",
        value=r_name,
    )


def _in_r(path: Sequence[str]) -> str:
    return "$".join(["tf", *path])


def _has(module: Any, path: Sequence[str]) -> bool:
    return _find(module, path) is not None


def _find(module: Any, path: Sequence[str]) -> Any:
    for name in path:
        module = getattr(module, name, None)
    return module
