"""Root cause of a failed job, with the log of the task that caused it."""

from collections.abc import Sequence
from typing import Any

from tfdistribute.errors import LostPeerError, PortError, TrainingError
from tfdistribute.launch import failures
from tfdistribute.launch.deadlines import Overdue
from tfdistribute.launch.host.logs import tail
from tfdistribute.launch.places.place import Place
from tfdistribute.launch.restart_policy import is_transient
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.launch.task_view import TaskView


def diagnose_task(task: TaskProcess, restarts: int, is_private: bool) -> dict[str, Any]:
    if failures.is_port_conflict(task.view):
        error = PortError(
            describe_port_conflict(task),
            "End that program, or give the cluster other addresses.",
            argument="port",
            value=str(task.port),
        )
        return with_log(failures.error_failure(error, task.view), task)
    failure = failures.task_failure(task.view, task.log)
    if is_transient(task.view) and restarts:
        failure["problem"] += f" {_count_restarts(restarts)}"
    failure = with_log(failure, task)
    if is_private and (failures.lacks_network(failure) or failures.was_refused(failure)):
        failure["remedy"] = (
            "This job has a private network without access to others: read the data before, or use "
            '`network = "open"`.'
        )
    return failure


def diagnose_deadline(
    late: Overdue, tasks: Sequence[TaskProcess], others: Sequence[TaskProcess], restarts: int
) -> dict[str, Any]:
    """Describe a passed deadline, with what is wrong with any task, and the restarts that did not help."""
    obstacles = _describe_obstacles(others)
    if late.kind == "start":
        kind, name, logs = LostPeerError, "start_timeout_s", f"log {tasks[0].log}"
        states = "; ".join(_describe_state(view) for view in late.views)
        problem = (
            f"Not every task reached its first step in {late.waited_s:.0f} seconds (`start_timeout_s` is "
            f"{late.seconds:g}): {states}.{obstacles}"
        )
    else:
        kind, name = TrainingError, "stall_timeout_s"
        logs = f"logs {', '.join(task.log for task in tasks)}"
        what = (
            "No task made a step"
            if late.kind == "stall"
            else "The last checkpoint was not evaluated"
        )
        problem = f"{what} in `stall_timeout_s` = {late.seconds:g} seconds.{obstacles}"
        problem = f"{problem} {_count_restarts(restarts)}".strip()
    remedy = f"See the {logs}, or increase `{name}`."
    error = kind(problem, remedy, argument=name, value=f"{late.seconds:g}")
    return failures.error_failure(error, tasks[0].view)


def _describe_obstacles(tasks: Sequence[TaskProcess]) -> str:
    """Name suspended processes and full disks, in sentences that follow another one."""
    suspended = [
        f" The process of {task.name} (pid {task.view.pid}) is suspended, as by SIGSTOP."
        for task in tasks
        if task.is_suspended()
    ]
    full = [place for place in dict.fromkeys(task.place for task in tasks) if place.lacks_space()]
    return "".join([*suspended, *(f" {describe_full_disk(place)}" for place in full)])


def describe_full_disk(place: Place) -> str:
    return (
        f'The disk with "{place.directory}" on {place.host} is full: what tasks there report is lost. Free space '
        "there."
    )


def describe_restart(tasks: Sequence[TaskProcess], pause_s: float) -> str:
    names = " and ".join(task.name for task in tasks)
    verb = "restarts" if len(tasks) == 1 else "restart"
    return f"{names} {verb}{f' in {pause_s:g} s' if pause_s else ''}"


def deleted_directory(directory: str) -> TrainingError:
    return TrainingError(
        f'The private directory of the job, "{directory}", was deleted while the job ran.',
        "Let no program clean the directory for temporary files, or set TMPDIR to another one; train again to continue "
        "from the last checkpoint.",
    )


def describe_port_conflict(task: TaskProcess) -> str:
    owner = None if task.port is None else task.place.port_owner(task.port)
    return f"Port {task.port} of {task.name} is taken{f' by {owner}' if owner else ''}."


def with_log(failure: dict[str, Any], task: TaskProcess) -> dict[str, Any]:
    return {**failure, "log_tail": tail(task.log, task.log_start)}


def _describe_state(view: TaskView) -> str:
    waits = f" for {view.waiting_for}" if view.waiting_for else ""
    return f'{view.task} (pid {view.pid}) never reached it, it is "{view.state}"{waits}'


def _count_restarts(count: int) -> str:
    return f"It was restarted {count} time{'' if count == 1 else 's'}." if count else ""
