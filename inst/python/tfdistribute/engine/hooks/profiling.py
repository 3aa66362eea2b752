"""Session hook that profiles steps of a training."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.hooks.step_requirements import UNLIMITED, StepRequirements

_profiler = tf.profiler.experimental


class ProfileSteps(tf.estimator.SessionRunHook):
    """Write a profile of the steps from ``first`` to ``last`` for TensorBoard's plugin.

    Many steps of a ``session.run`` are profiled as they run. A training that ends before writes what it has.

    Source:
        https://www.tensorflow.org/guide/profiler
    """

    def __init__(self, first: int, last: int, directory: str) -> None:
        self._first, self._last, self._directory = first, last, directory

    def begin(self) -> None:
        self._global_step = tf.compat.v1.train.get_or_create_global_step()
        self._profiles = False

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._step = int(session.run(self._global_step))

    def before_run(self, run_context: Any) -> Any:
        if self._first <= self._step + 1 <= self._last and not self._profiles:
            self._start()
        return tf.estimator.SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        # Some graphs read it before the update, so it is at least one step on.
        self._step = max(int(run_values.results), self._step + 1)
        if self._step >= self._last:
            self._stop()

    def end(self, session: Any) -> None:
        self._stop()

    def required_steps(self, _loss: Any) -> StepRequirements:
        return StepRequirements(self._skippable_steps, self._note_skipped_steps)

    def _skippable_steps(self, step: int) -> float:
        # The run before the first step ends with the step before it.
        marks = (mark for mark in (self._first - 1, self._last) if mark > step)
        return next((mark - step - 1 for mark in marks), UNLIMITED)

    def _note_skipped_steps(self, step: int, _losses: Sequence[float]) -> None:
        self._step = step

    def _start(self) -> None:
        try:
            _profiler.start(self._directory)
        except tf.errors.AlreadyExistsError:
            # A training that failed has not ended its own.
            _profiler.stop(save=False)
            _profiler.start(self._directory)
        self._profiles = True

    def _stop(self) -> None:
        if self._profiles:
            self._profiles = False
            _profiler.stop()
