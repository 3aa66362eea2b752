"""Session hooks of every training: stopping on request, and recording."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine import placement, tpu
from tfdistribute.engine.hooks import input_wait
from tfdistribute.engine.hooks.step_requirements import StepRequirements, no_steps_required


class StopOnRequest(tf.estimator.SessionRunHook):
    """End training normally after a step once ``requested()`` is true, so the checkpoint saver writes it."""

    def __init__(self, requested: Callable[[], bool]) -> None:
        self._requested = requested

    required_steps = no_steps_required

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._requested():
            run_context.request_stop()


class ReportBatches(tf.estimator.SessionRunHook):
    """Report the batches of an evaluation by their number."""

    def __init__(self, report: Callable[[int], Any]) -> None:
        self._report = report
        self._batches = 0

    def begin(self) -> None:
        self._batches = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.note_batch()

    def note_batch(self) -> None:
        self._batches += 1
        self._report(self._batches)


class NoteMissingDevices(tf.estimator.SessionRunHook):
    def __init__(self, note: Callable[[str], Any], config: Any) -> None:
        self._note = note
        self._config = config

    def begin(self) -> None:
        graph = tf.compat.v1.get_default_graph()
        for device in placement.missing_devices(graph, self._config):
            self._note(
                f"The model names the device {device}, which this process does not have: TensorFlow placed its "
                "operations on another device."
            )


class RecordTraining(tf.estimator.SessionRunHook):
    """Report steps and losses, every few steps and at most every ``report_every_s`` seconds.

    ``history.note_step`` is called with (step, loss, whether it is an entry of the record), and for past steps with
    their ``time.monotonic`` time. Before each report, ``history.utilization.sample`` is called with the seconds that
    steps have waited for their input, None if they are not measured.
    """

    def __init__(self, history: Any, every_n_steps: int, report_every_s: float) -> None:
        self._record, self._sample = history.note_step, history.utilization.sample
        self._every_n_steps = every_n_steps
        self._report_every_s = report_every_s
        self._reported = 0.0
        self._step = 0
        self._fetched: tuple[int, float] | None = None
        self._recorded: int | None = None
        self._shown: int | None = None

    def begin(self) -> None:
        self._global_step = tf.compat.v1.train.get_or_create_global_step()
        self._waited = input_wait.waited_seconds(tf.compat.v1.get_default_graph())
        # With many steps in a run, a step that was read before the last of them would be far off.
        self._reads_again = tpu.steps_per_run(tf.distribute.get_strategy()) > 1
        # The estimator adds the loss that it reduced over all replicas last.
        self._loss = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1]

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._step = int(session.run(self._global_step))
        self._first_step = self._step
        self._seen_at = time.monotonic()

    def before_run(self, run_context: Any) -> Any:
        self._in_report = time.monotonic() - self._reported >= self._report_every_s
        fetches = {"step": self._global_step, "loss": self._loss}
        if self._in_report and self._waited:
            fetches["waited"] = self._waited
        return tf.estimator.SessionRunArgs(fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step, before = run_values.results["step"], self._step
        if self._reads_again:
            step = run_context.session.run(self._global_step)
        # Some graphs read it before the update, so it is at least one step on.
        self._step = max(int(step), before + 1)
        in_record = self._is_in_record(before, self._step)
        self._fetched = (self._step, float(run_values.results["loss"]))
        self._seen_at = time.monotonic()
        if self._in_report:
            self._reported = time.monotonic()
            self._sample(max(run_values.results.get("waited", ()), default=None))
        if in_record or self._in_report:
            self._shown = self._step
            self._record(*self._fetched, in_record)
        if in_record:
            self._recorded = self._step

    def required_steps(self, loss: Any) -> StepRequirements:
        return StepRequirements(note_skipped_steps=self._note_skipped_steps)

    def _note_skipped_steps(self, step: int, losses: Sequence[float]) -> None:
        first, now = step - len(losses) + 1, time.monotonic()
        each_s = (now - self._seen_at) / max(1, len(losses))
        for position, loss in enumerate(losses):
            taken = first + position
            self._fetched = (taken, float(loss))
            if self._is_in_record(taken - 1, taken):
                self._recorded = taken
                self._record(*self._fetched, True, self._seen_at + (position + 1) * each_s)
        self._step, self._seen_at = step, now

    def _is_in_record(self, before: int, step: int) -> bool:
        every = self._every_n_steps
        return step // every > before // every or before == self._first_step

    def end(self, session: Any) -> None:
        # If the input has ended, a further step had begun. Steps of a run of many are recorded, but not shown.
        if self._fetched is not None and self._fetched[0] != self._recorded:
            self._record(*self._fetched, True)
        elif self._fetched is not None and self._fetched[0] != self._shown:
            self._record(*self._fetched, False)
