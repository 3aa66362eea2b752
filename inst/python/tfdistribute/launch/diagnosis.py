"""Why a whole job failed: the first cause, with the log of the task that gave it. Plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute.cluster.ports import listener
from tfdistribute.errors import LostPeerError, PortError, TrainingError
from tfdistribute.launch import failures
from tfdistribute.launch.deadlines import Overdue
from tfdistribute.launch.host.logs import tail
from tfdistribute.launch.restart_policy import is_transient
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.launch.task_view import TaskView


def of_task(task: TaskProcess, restarts: int, is_private: bool) -> dict[str, Any]:
    """Describe the failure of a job that one task could not go on with.

    Args:
        task: The task.
        restarts: How often tasks were started again.
        is_private: Whether the job has a network of its own.

    Returns:
        The failure.
    """
    if failures.is_port_conflict(task.view):
        error = PortError(
            clash(task),
            "End that program, or give the cluster other addresses.",
            argument="port",
            value=str(task.port),
        )
        return with_log(failures.error_failure(error, task.name), task)
    failure = failures.task_failure(task.view, task.log)
    if is_transient(task.view) and restarts:
        failure["problem"] += f" {_restarted(restarts)}"
    known = with_log(failure, task)
    if is_private and failures.lacks_network(known):
        known["remedy"] = (
            "This job's network is its own, and has no way out: read the data before, or use "
            '`network = "open"`.'
        )
    return known


def of_late_start(late: Overdue, tasks: Sequence[TaskProcess]) -> dict[str, Any]:
    """Describe the failure of a job in which somebody never came.

    Args:
        late: Who, and the deadline.
        tasks: The same tasks.

    Returns:
        The failure, of the first of them, without a log.
    """
    who = "; ".join(_never_came(view) for view in late.views)
    error = LostPeerError(
        f"Not every task reached its first step in `start_timeout_s` = {late.seconds:g} seconds: {who}.",
        f"See the log {tasks[0].log}, or give more time with `start_timeout_s`.",
        argument="start_timeout_s",
        value=f"{late.seconds:g}",
    )
    return failures.error_failure(error, tasks[0].name)


def of_stall(
    problem: str, late: Overdue, tasks: Sequence[TaskProcess], restarts: int
) -> dict[str, Any]:
    """Describe the failure of a job that no restart could set going again.

    Args:
        problem: What did not happen.
        late: The deadline.
        tasks: Who was waited for.
        restarts: How often tasks were started again.

    Returns:
        The failure, of the first of them.
    """
    error = TrainingError(
        f"{problem} {_restarted(restarts)}".strip(),
        f"See what the tasks did in {', '.join(task.log for task in tasks)}, or give more time with "
        "`stall_timeout_s`.",
        argument="stall_timeout_s",
        value=f"{late.seconds:g}",
    )
    return with_log(failures.error_failure(error, tasks[0].name), tasks[0])


def clash(task: TaskProcess) -> str:
    """Name the port of a task that another program has, and that program."""
    owner = None if task.port is None else listener(task.port)
    return f"Port {task.port} of {task.name} is taken{f' by {owner}' if owner else ''}."


def with_log(failure: dict[str, Any], task: TaskProcess) -> dict[str, Any]:
    """Add the last lines that the task wrote."""
    return {**failure, "log_tail": tail(task.log, task.log_start)}


def _never_came(view: TaskView) -> str:
    waits = f" for {view.waiting_for}" if view.waiting_for else ""
    return f'{view.task} (pid {view.pid}) never reached it, it is "{view.state}"{waits}'


def _restarted(count: int) -> str:
    return f"It was restarted {count} time{'' if count == 1 else 's'}." if count else ""
