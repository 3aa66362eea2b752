"""The calling thread, set as TensorFlow sets its own threads.

On its own threads TensorFlow takes numbers that are too small for full precision (denormal numbers) for 0, as
processors compute slowly with them. It does not do so on a thread that calls ``session.run``, whose results would
therefore differ.

Source:
    ``ScopedFlushDenormal`` in tsl/platform/denormal.h; the layout of ``fenv_t`` in the C libraries of Linux.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
import sys
from collections.abc import Iterator

import tensorflow as tf

# TensorFlow's number of the thread that calls `session.run`.
_CALLING_THREAD = -1

# Of a `fenv_t`: the position of the register MXCSR in it, in 32-bit words, and its number of words.
_MXCSR, _WORDS = 7, 8
# Its bits "flush to zero" and "denormals are zeros".
_FLUSHING = 0x8040


def is_possible() -> bool:
    """Return whether the calling thread can be set like TensorFlow's own."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


@contextlib.contextmanager
def run_options() -> Iterator[tf.compat.v1.RunOptions]:
    """Set the thread inside the block; gives the options with which ``session.run`` computes on it."""
    library = ctypes.CDLL(None)
    before = (ctypes.c_uint32 * _WORDS)()
    library.fegetenv(before)
    flushing = (ctypes.c_uint32 * _WORDS)(*before)
    flushing[_MXCSR] |= _FLUSHING
    library.fesetenv(flushing)
    try:
        yield tf.compat.v1.RunOptions(inter_op_thread_pool=_CALLING_THREAD)
    finally:
        library.fesetenv(before)
