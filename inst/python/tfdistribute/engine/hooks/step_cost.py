"""Session hook that measures the steps of a training."""

import math
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfdistribute.engine.hooks.step_requirements import no_steps_required


class MeasureSteps(tf.estimator.SessionRunHook):
    """Measure the steps of a training without its first quarter, and end it after ``seconds``, if they are given.

    ``report`` is called with the seconds and the processor time of a step, and the bytes of the gradients, of which a
    table of embeddings has as many as the table.
    """

    required_steps = no_steps_required

    def __init__(self, seconds: float | None, report: Callable[..., Any]) -> None:
        self._seconds, self._report = seconds or math.inf, report
        # Global step, time and processor time after each run.
        self._runs: list[tuple[int, float, float]] = []

    def begin(self) -> None:
        self._global_step = tf.compat.v1.train.get_global_step()
        self._gradient_bytes = sum(
            math.prod(each.shape.as_list()) * each.dtype.size
            for each in tf.compat.v1.trainable_variables()
            if each.shape.is_fully_defined() and "/replica_" not in each.op.name
        )

    def before_run(self, run_context: Any) -> Any:
        return tf.estimator.SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._runs.append((int(run_values.results), time.perf_counter(), time.process_time()))
        if self._runs[-1][1] - self._runs[0][1] >= self._seconds:
            run_context.request_stop()

    def end(self, session: Any) -> None:
        first, last = self._runs[0], self._runs[-1]
        from_step = first[0] + (last[0] - first[0]) / 4
        since = next(each for each in self._runs if each[0] >= from_step)
        steps = max(last[0] - since[0], 1)
        self._report(
            step_s=(last[1] - since[1]) / steps,
            processor_s=(last[2] - since[2]) / steps,
            gradient_bytes=self._gradient_bytes,
        )
