"""Which wait has lasted too long: decided from a table, without a process. Plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tfdistribute.cluster.spec import EVALUATOR
from tfdistribute.launch.task_view import TaskView

# How long a task that said it has finished, or that trains on after the chief, may take to end.
END_S = 30.0


@dataclass(frozen=True)
class Overdue:
    """A wait that is over.

    Args:
        kind: "start", "stall", "evaluation" or "end".
        views: The tasks that are waited for.
        seconds: How long they were waited for.
    """

    kind: str
    views: tuple[TaskView, ...]
    seconds: float


def overdue(
    views: Sequence[TaskView],
    start_timeout_s: float,
    stall_timeout_s: float,
    now: float,
    is_script: bool = False,
    chief_done_at: float | None = None,
) -> Overdue | None:
    """Find a wait that has lasted too long.

    Args:
        views: The tasks that are not waiting for a restart.
        start_timeout_s: Seconds from its start in which a task that trains must make a step.
        stall_timeout_s: Seconds in which some task must make a step.
        now: Monotonic time.
        is_script: Whether tasks may do other things after they trained.
        chief_done_at: Monotonic time at which the chief had finished; None before.

    Returns:
        The wait; None where all is in time.
    """
    if chief_done_at is not None:
        return _after_chief(views, stall_timeout_s, now, chief_done_at)
    training = [view for view in views if view.trains and view.is_running]
    late = [
        view
        for view in training
        if view.stepped_at is None
        and view.finished is None
        and now - view.started_at > start_timeout_s
    ]
    if late:
        return Overdue("start", _culprits(late, views), start_timeout_s)
    lasting = [view for view in training if view.finished is not None]
    ended = [view for view in lasting if now - view.heard_at > END_S and not is_script]
    if ended:
        return Overdue("end", tuple(ended), END_S)
    busy = [view for view in training if view.finished is None]
    if busy and all(now - (view.stepped_at or now) > stall_timeout_s for view in busy):
        return Overdue("stall", tuple(busy), stall_timeout_s)
    return None


def _after_chief(
    views: Sequence[TaskView], stall_timeout_s: float, now: float, chief_done_at: float
) -> Overdue | None:
    training = tuple(view for view in views if view.trains and view.is_running)
    if training and now - chief_done_at > END_S:
        return Overdue("end", training, END_S)
    quiet = tuple(
        view
        for view in views
        if view.task.type == EVALUATOR
        and view.is_running
        and now - max(view.heard_at, chief_done_at) > stall_timeout_s
    )
    return Overdue("evaluation", quiet, stall_timeout_s) if quiet else None


def _culprits(late: Sequence[TaskView], views: Sequence[TaskView]) -> tuple[TaskView, ...]:
    """Who never came, rather than who waits for them; servers may be among them."""
    silent = [
        view
        for view in views
        if view.task.type != EVALUATOR and (view.is_silent_since_start() or not view.is_running)
    ]
    return tuple(silent or late)
