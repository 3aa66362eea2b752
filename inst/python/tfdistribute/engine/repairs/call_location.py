"""Repair of TensorFlow's deprecation warnings in calls without a Python caller.

A deprecated TensorFlow function writes the caller's file and line into its warning. If R calls it directly, there is no
Python frame above it, and TensorFlow fails with "'NoneType' object has no attribute 'f_code'".
"""

from __future__ import annotations

import sys

from tensorflow.python.util import deprecation

OUTSIDE_PYTHON = "<outside Python>:0"


def install() -> None:
    """Allow calls of deprecated TensorFlow functions from outside Python.

    The warning names the caller as before, or ``<outside Python>:0``. A second call changes nothing.
    """
    # Other versions of TensorFlow may not look up the caller.
    if hasattr(deprecation, "_call_location"):
        deprecation._call_location = _call_location


def _call_location(outer: bool = False) -> str:
    """Return where a deprecated function was called.

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
