"""The steps that session hooks must see when one ``session.run`` takes many steps.

A hook is called after ``session.run``. A hook that acts at step 100 must be called after step 100 itself. Hooks of this
package have a method ``required_steps(loss)``; TensorFlow's own are known by their class. Any other hook sees every
step, unless it overrides neither ``before_run`` nor ``after_run``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1

UNLIMITED = math.inf


def _any_number(step: int) -> float:
    del step
    return UNLIMITED


def _nothing(step: int, losses: Sequence[float]) -> None:
    del step, losses


@dataclass(frozen=True)
class StepRequirements:
    """The steps that a hook must see.

    Args:
        skippable_steps: Takes the global step; returns how many of the next steps the hook need not see.
        note_skipped_steps: Called after skipped steps, with the global step after the last and the loss of each.
        on_nan: Called with the session's ``SessionRunContext`` if the loss of a skipped step is NaN.
        every_step: Whether no step can be skipped.
    """

    skippable_steps: Callable[[int], float] = _any_number
    note_skipped_steps: Callable[[int, Sequence[float]], Any] = _nothing
    on_nan: Callable[[Any], Any] | None = None
    every_step: bool = False


NO_STEPS = StepRequirements()
EVERY_STEP = StepRequirements(every_step=True)


def requirements_of(hook: Any, loss: Any) -> StepRequirements:
    """Return the steps that a hook must see: every step for a hook of unknown class."""
    if hasattr(hook, "required_steps"):
        return hook.required_steps(loss)
    known = _KNOWN.get(type(hook))
    if known is not None:
        return known(hook, loss)
    return of_unknown(hook)


def of_unknown(hook: Any) -> StepRequirements:
    base = tf.estimator.SessionRunHook
    passive = type(hook).before_run is base.before_run and type(hook).after_run is base.after_run
    return NO_STEPS if passive else EVERY_STEP


def no_steps_required(hook: Any, loss: Any) -> StepRequirements:
    """Return the requirements of a hook that need not see any step; usable as ``required_steps``."""
    del hook, loss
    return NO_STEPS


def hook_name(hook: Any) -> str:
    return getattr(hook, "described_as", type(hook).__name__)


def steps_before_trigger(timer: Any, step: int) -> float:
    """Count the steps after this one that come before a ``SecondOrStepTimer`` triggers."""
    every_steps = getattr(timer, "_every_steps", None)
    if every_steps is None:
        return UNLIMITED
    last = timer.last_triggered_step()
    return 0 if last is None else max(0, last + every_steps - step - 1)


def by_coming_step(hook: Any, loss: Any) -> StepRequirements:
    """Return the requirements of a hook that decides before a step, by its own count, whether the step is due."""
    del loss

    def note_skipped_steps(step: int, losses: Sequence[float]) -> None:
        del losses
        hook._next_step = step + 1

    return StepRequirements(
        lambda step: steps_before_trigger(hook._timer, step), note_skipped_steps
    )


def by_global_step(hook: Any, loss: Any) -> StepRequirements:
    """Return the requirements of a hook that decides after a step, by the global step, whether it was due."""
    del loss
    return StepRequirements(lambda step: steps_before_trigger(hook._timer, step))


def _by_own_count(hook: Any, loss: Any) -> StepRequirements:
    del loss

    def note_skipped_steps(step: int, losses: Sequence[float]) -> None:
        del step
        hook._iter_count += len(losses)

    return StepRequirements(
        lambda step: steps_before_trigger(hook._timer, hook._iter_count - 1), note_skipped_steps
    )


def at_last_step(hook: Any, loss: Any) -> StepRequirements:
    del loss
    return StepRequirements(lambda step: max(0, hook._last_step - step - 1))


def _of_nan(hook: Any, loss: Any) -> StepRequirements:
    if getattr(hook._loss_tensor, "name", hook._loss_tensor) != loss.name:
        return EVERY_STEP

    def on_nan(run_context: Any) -> None:
        if hook._fail_on_nan_loss:
            raise tf.estimator.NanLossDuringTrainingError
        run_context.request_stop()

    return StepRequirements(on_nan=on_nan)


_KNOWN: dict[type, Callable[[Any, Any], StepRequirements]] = {
    v1.train.CheckpointSaverHook: by_global_step,
    v1.train.StepCounterHook: by_global_step,
    v1.train.SummarySaverHook: by_coming_step,
    v1.train.ProfilerHook: by_coming_step,
    v1.train.LoggingTensorHook: _by_own_count,
    v1.train.NanTensorHook: _of_nan,
    v1.train.StopAtStepHook: at_last_step,
    v1.train.GlobalStepWaiterHook: no_steps_required,
}
