"""Session hooks that end or delay a training."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.hooks import fetches
from tfdistribute.engine.hooks.best_weights import BestWeights
from tfdistribute.engine.hooks.step_requirements import (
    EVERY_STEP,
    StepRequirements,
    at_last_step,
    no_steps_required,
)
from tfdistribute.errors import TrainingError

_POLL_S = 0.5


class StopOnDecision(tf.estimator.SessionRunHook):
    """End training when ``decide`` returns true, called with the global step and the loss over all replicas.

    ``decide.skippable_steps(step)`` and ``decide.note(step, loss)`` are optional. ``best`` keeps and finally restores
    the weights of the step that ``decide.improved_at`` names. The graph, and so checkpoints, do not change.
    """

    def __init__(
        self, decide: Callable[[int, float], bool], best: BestWeights | None = None
    ) -> None:
        self._decide: Any = decide
        self._best = best

    def begin(self) -> None:
        graph = tf.compat.v1.get_default_graph()
        step = tf.compat.v1.train.get_or_create_global_step()
        self._fetches = {"step": step, "loss": fetches.find(fetches.LOSS, graph, "monitor")}
        self._step = 0

    def before_run(self, run_context: Any) -> Any:
        return tf.estimator.SessionRunArgs(self._fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        # Some graphs read it before the update, so it is at least one step on.
        self._step = max(int(run_values.results["step"]), self._step + 1)
        ends = self._decide(self._step, float(run_values.results["loss"]))
        if self._best is not None and self._decide.improved_at is not None:
            self._best.keep(run_context.session, self._decide.improved_at)
        if ends:
            if self._best is not None:
                # Here, so that the last checkpoint has these weights and their step.
                self._best.restore(run_context.session)
            run_context.request_stop()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._best is not None:
            self._best.find_saver(session.graph)

    def end(self, session: Any) -> None:
        if self._best is not None:
            self._best.discard()

    def required_steps(self, loss: Any) -> StepRequirements:
        if not hasattr(self._decide, "skippable_steps"):
            return EVERY_STEP
        return StepRequirements(self._decide.skippable_steps, self._note_skipped_steps)

    def _note_skipped_steps(self, step: int, losses: Sequence[float]) -> None:
        for position, loss in enumerate(losses, step - len(losses) + 1):
            self._decide.note(position, float(loss))
        self._step = step


class StopAtStep(tf.estimator.StopAtStepHook):
    def __init__(
        self, num_steps: int | None, last_step: int | None, note_stop: Callable[[], Any]
    ) -> None:
        super().__init__(num_steps=num_steps, last_step=last_step)
        self._note_stop = note_stop

    required_steps = at_last_step

    def after_create_session(self, session: Any, coord: Any) -> None:
        super().after_create_session(session, coord)
        step = tf.compat.v1.train.get_global_step(session.graph)
        if self._last_step <= int(session.run(step)):
            coord.request_stop()
            self._note_stop()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        asked_before = run_context.stop_requested
        super().after_run(run_context, run_values)
        if run_context.stop_requested and not asked_before:
            self._note_stop()


class StopOnNan(tf.estimator.SessionRunHook):
    described_as = "hook_nan_tensor()"

    def __init__(self, tensor: Any, fail: bool, note_stop: Callable[[], Any]) -> None:
        self._tensor = tensor
        self._fail = fail
        self._note_stop = note_stop

    def begin(self) -> None:
        self._fetch = fetches.find(self._tensor, tf.compat.v1.get_default_graph(), "loss_tensor")

    def before_run(self, run_context: Any) -> Any:
        return tf.estimator.SessionRunArgs(self._fetch)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if np.any(np.isnan(run_values.results)):
            self._on_nan(run_context)

    def required_steps(self, loss: Any) -> StepRequirements:
        """Return every step, unless the tensor is the loss, which is checked anyway."""
        return StepRequirements(on_nan=self._on_nan) if self._fetch is loss else EVERY_STEP

    def _on_nan(self, run_context: Any) -> None:
        if self._fail:
            name = self._tensor if isinstance(self._tensor, str) else self._tensor.name
            raise TrainingError(
                f'"{name}" became NaN.',
                "Lower the learning rate, scale the features, or look for extreme values in the response.",
            )
        self._note_stop()
        run_context.request_stop()


class WaitForStep(tf.estimator.SessionRunHook):
    """Start training when other tasks have reached a global step; ``patience_s`` is 0 if no other task trains."""

    def __init__(self, step: int, patience_s: float) -> None:
        self._wait_for = step
        self._patience_s = patience_s
        self._started = False

    required_steps = no_steps_required

    def begin(self) -> None:
        self._global_step = tf.compat.v1.train.get_or_create_global_step()

    def before_run(self, run_context: Any) -> None:
        if self._started:
            return
        seen = -1
        moved_at = time.monotonic()
        while (step := int(run_context.session.run(self._global_step))) < self._wait_for:
            if step > seen:
                seen, moved_at = step, time.monotonic()
            if time.monotonic() - moved_at >= self._patience_s:
                raise TrainingError(
                    f"hook_global_step_waiter() waits for step {self._wait_for}, and no other task trains the model: "
                    f"it stays at step {step}.",
                    "Remove the hook, or give it to a worker of a training that others have begun.",
                )
            time.sleep(_POLL_S)
        self._started = True
