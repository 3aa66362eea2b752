"""Deadlines for the tasks of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tfdistribute.cluster.spec import EVALUATOR
from tfdistribute.launch.task_view import TaskView

# Maximum time between the report "finished" of a task, or of the chief, and the end of the process.
END_S = 30.0


@dataclass(frozen=True)
class Overdue:
    """A deadline that has passed.

    Args:
        kind: "start", "stall", "evaluation" or "end".
        seconds: The deadline, as the user set it.
        waited_s: The time that has really passed; for a start, of the task that has waited longest.
    """

    kind: str
    views: tuple[TaskView, ...]
    seconds: float
    waited_s: float = 0.0


def find_overdue(
    views: Sequence[TaskView],
    start_timeout_s: float,
    stall_timeout_s: float,
    now: float,
    is_script: bool = False,
    chief_done_at: float | None = None,
    patience: int = 1,
) -> Overdue | None:
    """Find a deadline that has passed; ``patience`` times ``start_timeout_s`` may pass before the first step."""
    if chief_done_at is not None:
        return _after_chief(views, stall_timeout_s, now, chief_done_at)
    training = [view for view in views if view.trains and view.is_running]
    late = [
        view
        for view in training
        if view.stepped_at is None
        and view.finished is None
        and now - view.started_at > start_timeout_s * patience
    ]
    if late:
        waited_s = max(now - view.started_at for view in late)
        return Overdue("start", _never_started(views) or tuple(late), start_timeout_s, waited_s)
    finished = [view for view in training if view.finished is not None]
    hanging = [view for view in finished if now - view.heard_at > END_S and not is_script]
    if hanging:
        return Overdue("end", tuple(hanging), END_S)
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
    idle = tuple(
        view
        for view in views
        if view.task.type == EVALUATOR
        and view.is_running
        and now - max(view.heard_at, chief_done_at) > stall_timeout_s
    )
    return Overdue("evaluation", idle, stall_timeout_s) if idle else None


def _never_started(views: Sequence[TaskView]) -> tuple[TaskView, ...]:
    """Blame the tasks that never started, including servers, not those waiting for them."""
    return tuple(
        view
        for view in views
        if view.task.type != EVALUATOR and (view.is_starting() or not view.is_running)
    )
