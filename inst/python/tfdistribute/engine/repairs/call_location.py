"""Repair of TensorFlow's deprecation warnings in calls without a Python caller.

A deprecated TensorFlow function writes the caller's file and line into its warning. If R calls it directly, there is no
Python frame above it, and TensorFlow fails with "'NoneType' object has no attribute 'f_code'".
"""

from __future__ import annotations

import sys
from typing import Any

from tfdistribute.engine import patches

OUTSIDE_PYTHON = "<outside Python>:0"


def install() -> None:
    """Allow calls of deprecated TensorFlow functions from outside Python."""
    patches.install("call_location", _call_location)


def _call_location(original: Any, outer: bool = False) -> str:
    """Return where a deprecated function was called: as before, or ``<outside Python>:0``."""
    del original
    # Frames 0 and 1 are this function and its wrapper, and frame 2 warns; frame 3 is absent when R calls.
    caller = sys._getframe(2).f_back
    if outer and caller is not None and caller.f_back is not None:
        caller = caller.f_back
    if caller is None:
        return OUTSIDE_PYTHON
    return f"{caller.f_code.co_filename}:{caller.f_lineno}"
