"""How many steps may pass before a session hook must see one.

A hook sees a step when ``session.run`` ends. Where many steps are taken in one run, a hook that acts at step 100 must
still see step 100 itself. Hooks of this package say what they need in a method ``step_needs(loss)``; TensorFlow's own
are known by their class. A hook that is neither sees every step, unless it overrides neither ``before_run`` nor
``after_run``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1

ANY = math.inf


def _any_number(step: int) -> float:
    del step
    return ANY


def _nothing(step: int, losses: Sequence[float]) -> None:
    del step, losses


@dataclass(frozen=True)
class Needs:
    """What a hook needs to see.

    Args:
        free_steps: Given the global step, says how many steps may follow it unseen: 0 where the next must be seen.
        pass_steps: Told of steps that passed unseen: the global step after the last, and the loss of each.
        found_nan: Told of a loss that is NaN, with the session's ``SessionRunContext``.
        every_step: Whether it never lets a step pass.
    """

    free_steps: Callable[[int], float] = _any_number
    pass_steps: Callable[[int, Sequence[float]], Any] = _nothing
    found_nan: Callable[[Any], Any] | None = None
    every_step: bool = False


NOTHING = Needs()
EVERYTHING = Needs(every_step=True)


def needs(hook: Any, loss: Any) -> Needs:
    """Say what a hook needs to see.

    Args:
        hook: A ``tf.estimator.SessionRunHook`` whose ``begin()`` was called.
        loss: The loss of the training, which is looked at for NaN in every step anyway.

    Returns:
        Its needs; of an unknown hook, everything.
    """
    if hasattr(hook, "step_needs"):
        return hook.step_needs(loss)
    known = _KNOWN.get(type(hook))
    if known is not None:
        return known(hook, loss)
    base = tf.estimator.SessionRunHook
    passive = type(hook).before_run is base.before_run and type(hook).after_run is base.after_run
    return NOTHING if passive else EVERYTHING


def nothing_needed(hook: Any, loss: Any) -> Needs:
    """Say what a hook needs that needs nothing; for ``step_needs``."""
    del hook, loss
    return NOTHING


def name(hook: Any) -> str:
    """Name a hook as its user knows it."""
    return getattr(hook, "described_as", type(hook).__name__)


def until(timer: Any, step: int) -> float:
    """Say how many steps are free before a ``SecondOrStepTimer`` triggers at one.

    Args:
        timer: The timer. One of seconds leaves all free: it triggers at the first step that is seen after them.
        step: The step that has just been taken.
    """
    every_steps = getattr(timer, "_every_steps", None)
    if every_steps is None:
        return ANY
    last = timer.last_triggered_step()
    return 0 if last is None else max(0, last + every_steps - step - 1)


def by_coming_step(hook: Any, loss: Any) -> Needs:
    """Say what a hook needs that decides before a step, by a count of its own, whether that step is due."""
    del loss

    def pass_steps(step: int, losses: Sequence[float]) -> None:
        del losses
        hook._next_step = step + 1

    return Needs(lambda step: until(hook._timer, step), pass_steps)


def by_global_step(hook: Any, loss: Any) -> Needs:
    """Say what a hook needs that decides after a step, by the global step, whether that step is due."""
    del loss
    return Needs(lambda step: until(hook._timer, step))


def _by_own_count(hook: Any, loss: Any) -> Needs:
    del loss

    def pass_steps(step: int, losses: Sequence[float]) -> None:
        del step
        hook._iter_count += len(losses)

    return Needs(lambda step: until(hook._timer, hook._iter_count - 1), pass_steps)


def at_last_step(hook: Any, loss: Any) -> Needs:
    """Say what a ``StopAtStepHook`` needs."""
    del loss
    return Needs(lambda step: max(0, hook._last_step - step - 1))


def _of_nan(hook: Any, loss: Any) -> Needs:
    if getattr(hook._loss_tensor, "name", hook._loss_tensor) != loss.name:
        return EVERYTHING

    def found_nan(run_context: Any) -> None:
        if hook._fail_on_nan_loss:
            raise tf.estimator.NanLossDuringTrainingError
        run_context.request_stop()

    return Needs(found_nan=found_nan)


_KNOWN: dict[type, Callable[[Any, Any], Needs]] = {
    v1.train.CheckpointSaverHook: by_global_step,
    v1.train.StepCounterHook: by_global_step,
    v1.train.SummarySaverHook: by_coming_step,
    v1.train.ProfilerHook: by_coming_step,
    v1.train.LoggingTensorHook: _by_own_count,
    v1.train.NanTensorHook: _of_nan,
    v1.train.StopAtStepHook: at_last_step,
    v1.train.GlobalStepWaiterHook: nothing_needed,
}
