"""Many batches of an evaluation in one ``session.run``."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
from tensorflow.python.training import evaluation

from tfdistribute.engine.hooks import step_requirements
from tfdistribute.engine.hooks.recording import ReportBatches
from tfdistribute.engine.hooks.step_requirements import StepRequirements
from tfdistribute.engine.many_steps.resident_rows import RowReader
from tfdistribute.engine.many_steps.runs import StepRuns, StepsPerRun

v1 = tf.compat.v1


class EvaluationRuns(StepRuns):
    """Adds batches to metrics in a loop, as ``StepRuns`` takes steps. It must be the last hook.

    Hooks of users see every batch: other hooks decide by the global step, which does not change in an evaluation.

    Args:
        steps_per_run: Batches of one run, or "auto".
        update_op: Adds a batch to the metrics.
        hooks: All hooks of the session.
    """

    def __init__(self, steps_per_run: StepsPerRun, update_op: Any, hooks: Sequence[Any]) -> None:
        # The counter that TensorFlow reads to end after a number of batches.
        self._batches = evaluation._get_or_create_eval_step()
        counted = v1.assign_add(self._batches, 1)
        # A loop ends when a loss is not a number, which an evaluation reports.
        spec = SimpleNamespace(train_op=tf.group(update_op, counted), loss=tf.constant(0.0))
        super().__init__(steps_per_run, spec, [list(hooks)], _say_nothing)

    def _counter_of_steps(self) -> Any:
        return self._batches

    def _requirements_of(self, hook: Any) -> StepRequirements:
        if isinstance(hook, (ReportBatches, RowReader)):
            return hook.required_steps(self._spec.loss)
        if isinstance(hook, evaluation._StopAfterNEvalsHook):
            return StepRequirements(lambda batches: max(0, hook._num_evals - batches - 1))
        return step_requirements.of_unknown(hook)


def _say_nothing(reason: str) -> None:
    del reason
