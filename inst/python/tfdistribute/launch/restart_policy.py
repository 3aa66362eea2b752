"""What to do about tasks that ended or failed: decided from a table, without a process. Plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tfdistribute.cluster.spec import EVALUATOR, Task
from tfdistribute.launch import failures
from tfdistribute.launch.task_view import TaskView

# What a lost peer makes others say is not yet the reason: that comes a moment later.
SETTLE_S = 0.5

# How often other ports are tried.
PORT_ATTEMPTS = 5

_LONGEST_PAUSE_S = 30.0

Action = Literal["go_on", "succeed", "fail", "restart", "other_ports"]


@dataclass(frozen=True)
class Policy:
    """How a job is healed.

    Args:
        chief: The task that leads.
        restarts: How often tasks may be started again.
        one_by_one: Whether a lost task is started alone, as beside parameter servers; otherwise all that train are.
        is_script: Whether only the end of a process says that its work is done.
        ports_can_change: Whether the ports were chosen by this package, on a network that others use too.
    """

    chief: Task
    restarts: int = 3
    one_by_one: bool = False
    is_script: bool = False
    ports_can_change: bool = True


@dataclass(frozen=True)
class Decision:
    """What is to be done now.

    Args:
        action: "go_on", "succeed", "fail", "restart" or "other_ports".
        cause: The task that gave the reason.
        tasks: The tasks that are started again.
    """

    action: Action
    cause: Task | None = None
    tasks: tuple[Task, ...] = ()


def decide(
    views: Sequence[TaskView], policy: Policy, restarts: int, port_attempts: int, now: float
) -> Decision:
    """Decide from what is known of all tasks.

    Args:
        views: The tasks that are not waiting for a restart.
        policy: How the job is healed.
        restarts: How often tasks were started again so far.
        port_attempts: How often other ports were tried so far.
        now: Epoch seconds.

    Returns:
        What to do. The root cause is the earliest failure that a restart cannot heal, else the first process that
        died, else the first failure: others may tell that they lost a process before its end is seen.
    """
    troubled = sorted(
        (view for view in views if is_troubled(view, policy, views)), key=_time_of_trouble
    )
    lasting = [view for view in troubled if not is_transient(view)]
    if lasting:
        return Decision("fail", lasting[0].task)
    if not troubled:
        done = all(is_done(view, policy, views) for view in views)
        return Decision("succeed" if done else "go_on")
    clash = next((view for view in troubled if failures.is_port_conflict(view)), None)
    if clash is not None:
        can = policy.ports_can_change and port_attempts < PORT_ATTEMPTS
        return Decision(
            "other_ports" if can else "fail",
            clash.task,
            tuple(view.task for view in views if view.task.type != EVALUATOR),
        )
    if now - _time_of_trouble(troubled[0]) < SETTLE_S:
        return Decision("go_on")
    first = next((view for view in troubled if view.failed is None), troubled[0])
    if restarts >= policy.restarts:
        return Decision("fail", first.task)
    return Decision("restart", first.task, _with(first, views, policy))


def is_troubled(view: TaskView, policy: Policy, views: Sequence[TaskView]) -> bool:
    """Whether a task failed, or ended before its work was done.

    Once the chief has finished, the loss of another process that trained changes nothing.
    """
    if _is_finished(view, policy) or view.is_ended_by_us:
        return False
    if view.exit is None and (policy.is_script or view.failed is None):
        return False
    return not (view.task.type != EVALUATOR and is_transient(view) and _over(policy, views))


def is_transient(view: TaskView) -> bool:
    """Whether another process or a lost connection was the reason, so that a restart may heal it."""
    if view.failed is not None:
        return bool(view.failed.get("transient"))
    # A server ends for no good reason. A signal came from outside, or from TensorFlow's own assertions.
    return view.task.type == "ps" or failures.signal_of(view.exit) is not None


def is_done(view: TaskView, policy: Policy, views: Sequence[TaskView]) -> bool:
    """Whether nothing more is expected of a task."""
    if view.task.type == "ps":
        return _over(policy, views)
    return _is_finished(view, policy) or (view.exit is not None and _over(policy, views))


def pause_s(restarts: int) -> float:
    """Seconds to wait before tasks are started again: 1, 2, 4, ... at most 30."""
    return min(2.0 ** (restarts - 1), _LONGEST_PAUSE_S)


def _is_finished(view: TaskView, policy: Policy) -> bool:
    if view.task.type == "ps":
        # Servers serve until they are ended.
        return False
    if policy.is_script:
        return view.exit == 0
    # What happens to a process after it said so, such as a crash while libraries are unloaded, changes nothing.
    return view.finished is not None and view.failed is None and view.exit is not None


def _over(policy: Policy, views: Sequence[TaskView]) -> bool:
    return any(view.task == policy.chief and _is_finished(view, policy) for view in views)


def _with(first: TaskView, views: Sequence[TaskView], policy: Policy) -> tuple[Task, ...]:
    """The task that was lost, with those that cannot go on without it."""
    if policy.one_by_one or not first.trains:
        return (first.task,)
    return tuple(view.task for view in views if view.trains)


def _time_of_trouble(view: TaskView) -> float:
    told = (view.failed or {}).get("time")
    times = [each for each in (told, view.ended_at) if isinstance(each, (int, float))]
    return min(times, default=0.0)
