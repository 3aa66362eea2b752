"""Restart policy for failed tasks, with decisions from a table of task views."""

import signal
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec, Task
from tfdistribute.launch import failures
from tfdistribute.launch.job import Job
from tfdistribute.launch.task_view import TaskView

# Peers of a failed task may report first; its own report or end is noticed within this time.
SETTLE_S = 0.5

# How often a job may change its ports.
PORT_ATTEMPTS = 5

_MAX_PAUSE_S = 30.0

Action = Literal["continue", "succeed", "fail", "restart", "change_ports"]


@dataclass(frozen=True)
class Policy:
    """Parameters of the decisions.

    Args:
        one_by_one: Whether a lost task is restarted alone, as with parameter servers, or with all that train.
        is_script: Whether only the exit code of a process shows that its work is done.
        ports_can_change: Whether this package chose the ports, on a network that other programs use too.
    """

    chief: Task
    restarts: int = 3
    one_by_one: bool = False
    is_script: bool = False
    ports_can_change: bool = True

    @classmethod
    def of(cls, job: Job, is_private: bool) -> "Policy":
        return cls(
            job.chief,
            restarts=job.cluster.supervision.restarts,
            one_by_one=job.cluster.has_servers or not job.trains,
            is_script=job.is_script,
            ports_can_change=not is_private and not isinstance(job.cluster, ClusterSpec),
        )


@dataclass(frozen=True)
class Decision:
    """A restart does not count if it has the cause of one that is under way."""

    action: Action
    cause: Task | None = None
    tasks: tuple[Task, ...] = ()
    counts: bool = True


def next_action(
    views: Sequence[TaskView],
    policy: Policy,
    restarts: int,
    port_attempts: int,
    now: float,
    lost: Collection[Task] = (),
) -> Decision:
    """Decide, given the tasks whose hosts were ``lost`` since the last step."""
    failed = sorted((view for view in views if has_failed(view, policy, views)), key=_failed_at)
    permanent = [view for view in failed if not is_transient(view)]
    if permanent:
        return Decision("fail", permanent[0].task)
    if not failed:
        done = all(is_done(view, policy, views) for view in views)
        return Decision("succeed" if done else "continue")
    conflict = next((view for view in failed if failures.is_port_conflict(view)), None)
    if conflict is not None:
        can = policy.ports_can_change and port_attempts < PORT_ATTEMPTS
        return Decision(
            "change_ports" if can else "fail",
            conflict.task,
            tuple(view.task for view in views if view.task.type != EVALUATOR),
        )
    killed = next((view for view in failed if _was_killed(view)), None)
    is_known = killed is not None and not _has_chief_reported(policy, views)
    if not is_known and now - _failed_at(failed[0]) < SETTLE_S:
        return Decision("continue")
    first = killed or next((view for view in failed if view.failed is None), failed[0])
    # Hosts that are lost together, as all members of a framework, are seen to be one after the other.
    counts = not lost or first.loss is None or first.task in lost
    if counts and restarts >= policy.restarts:
        return Decision("fail", first.task)
    return Decision("restart", first.task, _tasks_to_restart(first, views, policy), counts)


def has_failed(view: TaskView, policy: Policy, views: Sequence[TaskView]) -> bool:
    """Return whether a task failed or ended too early; once the chief has finished, lost workers do not count."""
    if _is_finished(view, policy) or view.is_ended_by_us:
        return False
    if view.exit is None and (policy.is_script or view.failed is None):
        return False
    return not (
        view.task.type != EVALUATOR and is_transient(view) and _is_chief_done(policy, views)
    )


def is_transient(view: TaskView) -> bool:
    """Return whether another process or a lost connection was the cause, so that a restart may help."""
    if view.failed is not None:
        return bool(view.failed.get("transient"))
    # A server never ends on its own. A signal comes from outside, or from TensorFlow's own assertions.
    return view.task.type == "ps" or failures.signal_of(view.exit) is not None


def is_done(view: TaskView, policy: Policy, views: Sequence[TaskView]) -> bool:
    if view.task.type == "ps":
        return _is_chief_done(policy, views)
    return _is_finished(view, policy) or (view.exit is not None and _is_chief_done(policy, views))


class Pauses:
    """Pauses before restarts: none before the first after a new checkpoint, then 2, 4, 8, ... at most 30 seconds."""

    def __init__(self, checkpoint: int | None) -> None:
        self._checkpoint, self._in_vain = checkpoint, 0

    def next_s(self, checkpoint: int | None) -> float:
        self._in_vain = self._in_vain + 1 if checkpoint == self._checkpoint else 1
        self._checkpoint = checkpoint
        return 0.0 if self._in_vain == 1 else min(2.0 ** (self._in_vain - 1), _MAX_PAUSE_S)


def _was_killed(view: TaskView) -> bool:
    # No process sends SIGKILL to another because a peer has failed.
    is_lost = view.failed is not None or view.loss is not None
    return not is_lost and failures.signal_of(view.exit) == signal.SIGKILL


def _is_finished(view: TaskView, policy: Policy) -> bool:
    if view.task.type == "ps":
        # Servers run until they are ended.
        return False
    if policy.is_script:
        return view.exit == 0
    # A crash after the task reported its end, for example while libraries are unloaded, does not matter.
    return view.finished is not None and view.failed is None and view.exit is not None


def _is_chief_done(policy: Policy, views: Sequence[TaskView]) -> bool:
    return any(view.task == policy.chief and _is_finished(view, policy) for view in views)


def _has_chief_reported(policy: Policy, views: Sequence[TaskView]) -> bool:
    # The job may then end before a lost task matters.
    return any(view.task == policy.chief and view.finished is not None for view in views)


def _tasks_to_restart(
    first: TaskView, views: Sequence[TaskView], policy: Policy
) -> tuple[Task, ...]:
    if policy.one_by_one or not first.trains:
        return (first.task,)
    return tuple(view.task for view in views if view.trains)


def _failed_at(view: TaskView) -> float:
    reported = (view.failed or {}).get("time")
    times = [each for each in (reported, view.ended_at) if isinstance(each, (int, float))]
    return min(times, default=0.0)
