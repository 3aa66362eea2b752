"""Clock of the steps of a plain Estimator."""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf


class Clock(tf.compat.v1.train.SessionRunHook):
    """Record when the first tenth of the steps was done, and when the last."""

    def __init__(self, steps: int) -> None:
        self.first, self.steps = steps // 10, 0
        self.started = self.ended = 0.0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.steps += 1
        self.ended = time.perf_counter()
        if self.steps == self.first:
            self.started = self.ended
