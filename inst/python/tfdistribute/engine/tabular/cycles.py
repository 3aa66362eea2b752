"""Judgments of layers at the ends of the cycles of their rate, in the session that trains them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.hooks import step_requirements
from tfdistribute.engine.inference.fed_rows import batches_of
from tfdistribute.engine.step.resident_rows import BATCH, ResidentRows

# Collections of a graph that trains: logits of the first replica's batch, and the share of units that it omits.
LOGITS, OMITTED = "tabular/logits", "tabular/omitted"
_MOST_ROWS = 4_096


class JudgeCycles(tf.estimator.CheckpointSaverHook):
    """Write checkpoints at the ends of cycles only, and let ``judge`` decide there whether the training ends.

    ``judge`` gets the logits of ``rows``, of shape [rows, outputs]; None without rows, or if those that train are not
    in memory, as on a TPU. Both must have the same matrices.
    """

    def __init__(
        self,
        directory: str,
        ends: Sequence[int],
        rows: ResidentRows | None,
        judge: Callable[[Any], bool],
    ) -> None:
        listener = _Judge(rows, judge)
        super().__init__(directory, save_steps=1, listeners=[listener], save_graph_def=False)
        self._ends, self._timer = ends, _GivenSteps(ends)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Write no checkpoint before the first step."""

    def required_steps(self, loss: Any) -> step_requirements.StepRequirements:
        return step_requirements.StepRequirements(lambda step: skippable_steps(self._ends, step))


def skippable_steps(ends: Sequence[int], step: int) -> float:
    """Return how many steps follow this one before the next end of a cycle."""
    following = (each for each in ends if each > step)
    return min(following, default=step_requirements.UNLIMITED) - step - 1


class _Judge(tf.estimator.CheckpointSaverListener):
    def __init__(self, rows: ResidentRows | None, judge: Callable[[Any], bool]) -> None:
        self._rows, self._judge = rows, judge

    def after_save(self, session: Any, global_step_value: Any) -> bool:
        batch = session.graph.get_collection(BATCH)
        if self._rows is None or not batch:
            # The graph of the training cannot change any more.
            with tf.Graph().as_default():
                return self._judge(None)
        (logits, *_), (omitted, *_) = (
            session.graph.get_collection(name) for name in (LOGITS, OMITTED)
        )
        found = [
            session.run(logits, {omitted: 0.0, **dict(zip(batch, fed, strict=False))})
            for fed in batches_of(self._rows, _MOST_ROWS)
        ]
        return self._judge(np.concatenate(found).astype(np.float64))


class _GivenSteps(tf.estimator.SecondOrStepTimer):
    def __init__(self, steps: Sequence[int]) -> None:
        super().__init__(every_steps=1)
        self._steps = steps

    def should_trigger_for_step(self, step: int) -> bool:
        last = self.last_triggered_step() or 0
        return any(last < each <= step for each in self._steps)
