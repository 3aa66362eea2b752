"""Repair of TensorFlow's deprecation warnings when no Python function stands above the call.

A deprecated TensorFlow function writes the caller's file and line into its warning. Called straight
from R there is no Python frame above it, and TensorFlow 2.15 fails with "'NoneType' object has no
attribute 'f_code'".
"""

from __future__ import annotations

import sys

from tensorflow.python.util import deprecation

OUTSIDE_PYTHON = "<outside Python>:0"


def install() -> None:
    """Let deprecated TensorFlow functions be called from outside Python.

    Does nothing where it is installed already. The warning itself stays; it names the caller as
    before, or ``<outside Python>:0``.
    """
    # A TensorFlow that no longer looks for the caller has nothing that could fail.
    if hasattr(deprecation, "_call_location"):
        deprecation._call_location = _call_location


def _call_location(outer: bool = False) -> str:
    """Say where a deprecated function was called.

    Args:
        outer: Whether the caller's own caller is meant, for decorators that add a frame.

    Returns:
        ``file:line``, or ``<outside Python>:0``.

    Source:
        ``_call_location`` in tensorflow/python/util/deprecation.py.
    """
    # Frame 0 is this function and frame 1 the wrapper that warns; frame 2 is absent when R calls.
    caller = sys._getframe(1).f_back
    if outer and caller is not None and caller.f_back is not None:
        caller = caller.f_back
    if caller is None:
        return OUTSIDE_PYTHON
    return f"{caller.f_code.co_filename}:{caller.f_lineno}"
