"""Run the tests of TensorFlow Estimator with Estimators that this package has taken over.

    git clone --depth 1 --branch r2.15 https://github.com/tensorflow/estimator FOLDER
    tools/env python tools/estimator_tests.py FOLDER [--plain] [FILE ...]

FILE is a name such as canned/linear_test.py; without one, all tests run but those of TPUs. ``--plain`` leaves the
Estimators as TensorFlow makes them, for comparison. CONTRIBUTING.md lists what differs.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from absl import flags

from tfdistribute import engine
from tfdistribute.engine import existing_estimators
from tfdistribute.engine.estimator import adoption

PACKAGE = "tensorflow_estimator.python.estimator"
# TPUs, and a package of TensorFlow 1.
IGNORED = ("tpu", "canned/kmeans_test.py")


def add_helpers(tests: Path) -> None:
    """Let the installed package have the modules that only the repository has."""
    folders = [path.parent.relative_to(tests) for path in tests.rglob("__init__.py")]
    for folder in [Path(), *folders]:
        name = ".".join([PACKAGE, *folder.parts])
        try:
            importlib.import_module(name).__path__.append(str(tests / folder))
        except ImportError:
            continue


def take_over() -> None:
    """Turn each new Estimator into what the verbs of this package use, in place."""
    library: Any = importlib.import_module(f"{PACKAGE}.estimator")
    original, copying = library.Estimator.__init__, [False]

    def take(self: Any, *arguments: Any, **fields: Any) -> None:
        original(self, *arguments, **fields)
        if copying[0]:
            return
        copying[0] = True
        try:
            copied = existing_estimators.copy(self, existing_estimators.own_config(self), False)
        finally:
            copying[0] = False
        note_optimizers(self._model_fn)
        vars(self).update(vars(copied))
        self.__class__ = adoption._adopted_class(type(self))

    library.Estimator.__init__ = take


def note_optimizers(model_fn: Any) -> None:
    """Let an optimizer that a test made name the variable that counts its steps, because a copy of it trains."""
    for cell in getattr(model_fn, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if isinstance(content, engine.tf.keras.optimizers.legacy.Optimizer):
            content._iterations = type("Counter", (), {"name": "global_step:0"})


def main(arguments: list[str]) -> int:
    tests = Path(arguments[0]).resolve() / PACKAGE.replace(".", "/")
    names = [each for each in arguments[1:] if not each.startswith("-")]
    add_helpers(tests)
    if "--plain" not in arguments:
        take_over()
    sys.argv = sys.argv[:1]
    flags.FLAGS(sys.argv)
    ignored = [f"--ignore={tests / name}" for name in IGNORED]
    options = ["--import-mode=importlib", "-q", "-rfE", "--tb=short", "-c", "/dev/null"]
    paths = [str(tests / name) for name in names or ["."]]
    return int(pytest.main([*options, f"--rootdir={tests}", *ignored, *paths]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
