"""Many batches of an evaluation or a prediction in one ``session.run``."""

from __future__ import annotations

from typing import Any

from tensorflow.python.training import evaluation

from tfdistribute.engine.hooks import step_requirements
from tfdistribute.engine.hooks.recording import ReportBatches
from tfdistribute.engine.hooks.step_requirements import StepRequirements
from tfdistribute.engine.many_steps.resident_rows import RowReader
from tfdistribute.engine.many_steps.runs import StepRuns


class BatchRuns(StepRuns):
    """Computes batches in a loop, as ``StepRuns`` takes steps.

    Hooks of users see every batch: other hooks decide by the global step, which does not change.
    """

    # The counter of batches.
    _batches: Any = None

    def _counter_of_steps(self) -> Any:
        return self._batches

    def _requirements_of(self, hook: Any) -> StepRequirements:
        if isinstance(hook, (ReportBatches, RowReader)):
            return hook.required_steps(self._spec.loss)
        if isinstance(hook, evaluation._StopAfterNEvalsHook):
            return StepRequirements(lambda batches: max(0, hook._num_evals - batches - 1))
        return step_requirements.of_unknown(hook)


def say_nothing(reason: str) -> None:
    """Ignore the reason why only one batch is computed in a run."""
    del reason
