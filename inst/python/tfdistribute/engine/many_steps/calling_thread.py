"""The calling thread: when it is chosen for a run, and set as TensorFlow sets its own threads.

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
import statistics
import sys
from collections.abc import Iterator

import tensorflow as tf

# TensorFlow's number of the thread that calls `session.run`.
_CALLING_THREAD = -1

# Of a `fenv_t`: the position of the register MXCSR in it, in 32-bit words, and its number of words.
_MXCSR, _WORDS = 7, 8
# Its bits "flush to zero" and "denormals are zeros".
_FLUSHING = 0x8040

# Timed runs with each choice of threads, and how many runs then keep the first choice.
_TRIALS = 5
_KEPT_RUNS = 100
# How much longer a step may take in the calling thread, whose speed varies less.
_TOLERANCE = 1.05


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


class ThreadChoice:
    """Chooses between the calling thread and TensorFlow's threads for the operations of a run.

    TensorFlow hands most operations over to another thread, which takes longer than a small operation does. Only its
    own threads compute independent operations at the same time. Both are tried in turn, in runs of equal length, and
    TensorFlow's threads are kept if they are clearly faster. They are tried again at ever longer intervals, because
    other programs may have used the processor meanwhile.
    """

    def __init__(self) -> None:
        self._keep_here = True
        self._kept_runs, self._runs_left = _KEPT_RUNS, 0
        self._step_s: dict[bool, list[float]] = {True: [], False: []}

    def next_in_this_thread(self) -> bool:
        """Return whether the next run takes the calling thread."""
        if self._runs_left > 0:
            return self._keep_here
        return len(self._step_s[True]) <= len(self._step_s[False])

    def note_run(self, in_this_thread: bool, step_s: float | None) -> None:
        """Note the seconds per step of a run; None for a run that is not compared."""
        if step_s is None:
            return
        if self._runs_left > 0:
            self._runs_left -= 1
            return
        self._step_s[in_this_thread].append(step_s)
        here, there = self._step_s[True], self._step_s[False]
        if len(here) == len(there) == _TRIALS:
            # Of neighbouring runs, because the processor may become faster or slower meanwhile.
            ratios = [one / other for one, other in zip(here, there, strict=True)]
            self._keep_here = statistics.median(ratios) <= _TOLERANCE
            self._step_s = {True: [], False: []}
            self._runs_left = self._kept_runs
            self._kept_runs *= 2
