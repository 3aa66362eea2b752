"""Import without looking for garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def defer_collection() -> Iterator[None]:
    """Collect no garbage inside the block, and count all objects as old at its end.

    TensorFlow's import makes 400,000 objects that stay. Looking at them again and again took a fifth of the time to the
    first step.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Together, these make objects old without a look at them. What a program has frozen must stay so.
        if gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()
        if collects:
            gc.enable()
