"""Turns of a plain Estimator."""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import tensorflow as tf

# With checkpoints, the graph would first be written as text, for 20 seconds with 2,000 columns.
WITHOUT_CHECKPOINTS = tf.estimator.RunConfig(
    save_checkpoints_secs=None, save_checkpoints_steps=None
)


class Turns(tf.compat.v1.train.SessionRunHook):
    """Let a run of an Estimator wait between turns, and time the steps of each.

    One run lasts over all turns, because building its graph may take longer than a turn.

    Args:
        perform: Runs the Estimator with this hook, on data without an end.
    """

    def __init__(self, perform: Callable[[Any], object]) -> None:
        self._perform = perform
        self._asked: queue.Queue[int] = queue.Queue()
        self._seconds: queue.Queue[float] = queue.Queue()
        self._left = 1
        threading.Thread(target=self._run, daemon=True).start()
        # The first step also starts TensorFlow.
        self._seconds_of(1)

    def seconds_of(self, steps: int) -> float:
        """Return how long steps take, after others that use up the batches that were read before the turn."""
        self._seconds_of(max(3, steps // 10))
        return self._seconds_of(steps)

    def before_run(self, run_context: Any) -> None:
        if self._left == 1:
            self._left = self._asked.get()
            self._began = time.perf_counter()
        else:
            self._left -= 1

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._left == 1:
            self._seconds.put(time.perf_counter() - self._began)

    def _seconds_of(self, steps: int) -> float:
        self._asked.put(steps)
        return self._seconds.get()

    def _run(self) -> None:
        try:
            self._perform(self)
        except BaseException:  # noqa: BLE001 - the other thread would wait for ever
            traceback.print_exc()
            os._exit(1)
