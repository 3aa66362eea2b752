"""Many batches of an evaluation in one ``session.run``."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
from tensorflow.python.training import evaluation

from tfdistribute.engine.many_steps.runs import StepsPerRun
from tfdistribute.engine.passes.batch_runs import BatchRuns, say_nothing

v1 = tf.compat.v1


class EvaluationRuns(BatchRuns):
    """Adds batches to metrics in a loop. It must be the last hook.

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
        super().__init__(steps_per_run, spec, [list(hooks)], say_nothing)
