"""Python's own distutils in place of that of setuptools."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path


@contextlib.contextmanager
def own_distutils() -> Iterator[None]:
    """Let ``import distutils`` inside the block find Python's own, and forget it at the end.

    TensorFlow up to 2.18 asks distutils for one directory. If setuptools is installed, it is what such an import finds:
    140 modules, a twelfth of the import of TensorFlow. Python 3.12 has no distutils of its own.
    """
    spec = _spec()
    if spec is None or spec.loader is None:
        yield
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["distutils"] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            spec.loader.exec_module(module)
            # The module that TensorFlow asks, if it is there.
            importlib.import_module("distutils.sysconfig")
        yield
    finally:
        # Later imports choose for themselves; setuptools warns if the other was imported before it.
        for name in [name for name in sys.modules if f"{name}.".startswith("distutils.")]:
            del sys.modules[name]


def _spec() -> ModuleSpec | None:
    if "setuptools" in sys.modules or "distutils" in sys.modules:
        return None
    # Past the finder of setuptools.
    spec = PathFinder.find_spec("distutils")
    # Debian's Python comes without most of it.
    has_all = spec is not None and spec.origin and Path(spec.origin).with_name("core.py").exists()
    return spec if has_all else None
