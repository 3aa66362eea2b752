"""Deadlines of tasks, which pass only while nothing happens that a task waits for."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfdistribute.cluster.spec import EVALUATOR, START_PATIENCE
from tfdistribute.launch.job import Job
from tfdistribute.launch.task_process import RECENT_S, TaskProcess
from tfdistribute.launch.task_view import TaskView

# Maximum time between the report "finished" of a task, or of the chief, and the end of the process.
END_S = 30.0


@dataclass(frozen=True)
class Overdue:
    """A passed deadline: "start", "stall", "evaluation" or "end". ``waited_s`` is the time that has really passed."""

    kind: str
    views: tuple[TaskView, ...]
    seconds: float
    waited_s: float = 0.0


class Deadlines:
    def __init__(self, job: Job) -> None:
        self._job, self._patience = job, 1

    def restart(self) -> None:
        self._patience = 1

    def find_overdue(
        self, tasks: Sequence[TaskProcess], now: float, chief_done_at: float | None
    ) -> Overdue | None:
        """Find a deadline that has passed; a task that computes gets more time to start or to evaluate."""
        supervision = self._job.cluster.supervision
        late = find_overdue(
            [task.view for task in tasks],
            supervision.start_timeout_s,
            supervision.stall_timeout_s,
            now,
            self._job.is_script,
            chief_done_at,
            self._patience,
        )
        if late is None or self._computes(
            late, [each for each in tasks if each.view in late.views]
        ):
            return None
        return late

    def _computes(self, late: Overdue, tasks: Sequence[TaskProcess]) -> bool:
        if late.kind == "evaluation":
            return any(task.was_busy(late.seconds) for task in tasks)
        if late.kind != "start" or self._patience == START_PATIENCE:
            return False
        # A busy task is building its model or reading its data, and the others wait for it.
        recent_s = min(RECENT_S, late.seconds)
        is_busy = any(task.is_busy(recent_s) for task in tasks)
        self._patience += is_busy
        return is_busy


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
    # The chief of a tabular model may choose for as long as its trials take, and the others wait for it.
    chose_at = max((view.chose_at for view in views), default=0.0)
    late = [
        view
        for view in training
        if view.stepped_at is None
        and view.finished is None
        and now - max(view.started_at, chose_at) > start_timeout_s * patience
    ]
    if late:
        waited_s = max(now - max(view.started_at, chose_at) for view in late)
        # Servers count, too, but not tasks that wait for others.
        never_started = tuple(
            view
            for view in views
            if view.task.type != EVALUATOR and (view.is_starting() or not view.is_running)
        )
        return Overdue("start", never_started or tuple(late), start_timeout_s, waited_s)
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
