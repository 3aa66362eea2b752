"""The steps that session hooks must see when one ``session.run`` takes many steps.

A hook is called after ``session.run``, so a hook that acts at step 100 must see step 100 itself. Hooks of this
package have a method ``required_steps(loss)``, and TensorFlow's own are known by their class. Any other hook sees
every step, unless it overrides neither ``before_run`` nor ``after_run``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1

UNLIMITED = math.inf


@dataclass(frozen=True)
class StepRequirements:
    """The steps that a hook must see.

    ``skippable_steps`` takes the global step and returns how many steps the hook need not see. ``note_skipped_steps``
    gets the global step after them and their losses, and ``on_nan`` the session's context if one is NaN.
    """

    skippable_steps: Callable[[int], float] = lambda step: UNLIMITED
    note_skipped_steps: Callable[[int, Sequence[float]], Any] = lambda step, losses: None
    on_nan: Callable[[Any], Any] | None = None
    every_step: bool = False


NO_STEPS = StepRequirements()
EVERY_STEP = StepRequirements(every_step=True)


def requirements_of(hook: Any, loss: Any) -> StepRequirements:
    # A method may be set on the object, whatever its class does.
    if not vars(hook).keys() & {"before_run", "after_run"}:
        if hasattr(hook, "required_steps"):
            return hook.required_steps(loss)
        known = _KNOWN.get(type(hook))
        if known is not None:
            return known(hook, loss)
    return of_unknown(hook)


def of_unknown(hook: Any) -> StepRequirements:
    base = tf.estimator.SessionRunHook
    methods = [getattr(each, "__func__", None) for each in (hook.before_run, hook.after_run)]
    return NO_STEPS if methods == [base.before_run, base.after_run] else EVERY_STEP


def no_steps_required(_hook: Any, _loss: Any) -> StepRequirements:
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


def by_coming_step(hook: Any, _loss: Any) -> StepRequirements:
    """Return the requirements of a hook that decides before a step, by its own count, whether the step is due."""

    def note_skipped_steps(step: int, _losses: Sequence[float]) -> None:
        hook._next_step = step + 1

    return StepRequirements(
        lambda step: steps_before_trigger(hook._timer, step), note_skipped_steps
    )


def by_global_step(hook: Any, _loss: Any) -> StepRequirements:
    """Return the requirements of a hook that decides after a step, by the global step, whether it was due."""
    return StepRequirements(lambda step: steps_before_trigger(hook._timer, step))


def by_own_count(hook: Any, _loss: Any) -> StepRequirements:
    def note_skipped_steps(_step: int, losses: Sequence[float]) -> None:
        hook._iter_count += len(losses)

    return StepRequirements(
        lambda step: steps_before_trigger(hook._timer, hook._iter_count - 1), note_skipped_steps
    )


def at_last_step(hook: Any, _loss: Any) -> StepRequirements:
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
    v1.train.LoggingTensorHook: by_own_count,
    v1.train.NanTensorHook: _of_nan,
    v1.train.StopAtStepHook: at_last_step,
    v1.train.GlobalStepWaiterHook: no_steps_required,
}
