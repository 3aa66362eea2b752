"""Deadlines of tasks, which pass only while nothing happens that a task waits for."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfdistribute.cluster.spec import EVALUATOR, START_PATIENCE
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


@dataclass
class Deadlines:
    """Limits of a job; ``patience`` times ``start_timeout_s`` may pass before the first step."""

    start_timeout_s: float
    stall_timeout_s: float
    is_script: bool = False
    patience: int = 1

    def find_overdue(
        self, views: Sequence[TaskView], now: float, chief_done_at: float | None = None
    ) -> Overdue | None:
        if chief_done_at is not None:
            return self._after_chief(views, now, chief_done_at)
        training = [view for view in views if view.trains and view.is_running]
        # The chief of a tabular model may choose for as long as its trials take, and the others wait for it.
        chose_at = max((view.chose_at for view in views), default=0.0)
        waited_s = {
            view.task: now - max(view.started_at, chose_at)
            for view in training
            if view.stepped_at is None and view.finished is None
        }
        late = [
            view
            for view in training
            if waited_s.get(view.task, 0.0) > self.start_timeout_s * self.patience
        ]
        if late:
            # Servers count, too, but not tasks that wait for others.
            never_started = tuple(
                view
                for view in views
                if view.task.type != EVALUATOR and (view.is_starting() or not view.is_running)
            )
            longest_s = max(waited_s.values())
            return Overdue("start", never_started or tuple(late), self.start_timeout_s, longest_s)
        hanging = tuple(view for view in training if view.finished and now - view.heard_at > END_S)
        if hanging and not self.is_script:
            return Overdue("end", hanging, END_S)
        busy = [view for view in training if view.finished is None]
        if busy and all(now - (view.stepped_at or now) > self.stall_timeout_s for view in busy):
            return Overdue("stall", tuple(busy), self.stall_timeout_s)
        return None

    def _after_chief(
        self, views: Sequence[TaskView], now: float, chief_done_at: float
    ) -> Overdue | None:
        training = tuple(view for view in views if view.trains and view.is_running)
        if training and now - chief_done_at > END_S:
            return Overdue("end", training, END_S)
        idle = tuple(
            view
            for view in views
            if view.task.type == EVALUATOR
            and view.is_running
            and now - max(view.heard_at, chief_done_at) > self.stall_timeout_s
        )
        return Overdue("evaluation", idle, self.stall_timeout_s) if idle else None

    def extend(self, late: Overdue, tasks: Sequence[TaskProcess]) -> bool:
        """Give late tasks more time if they compute, as a task that builds its model or reads its data does."""
        if late.kind == "evaluation":
            return any(task.was_busy(late.seconds) for task in tasks)
        if late.kind != "start" or self.patience == START_PATIENCE:
            return False
        is_busy = any(task.is_busy(min(RECENT_S, late.seconds)) for task in tasks)
        self.patience += is_busy
        return is_busy
