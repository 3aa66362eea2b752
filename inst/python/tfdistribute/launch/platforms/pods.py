"""The state of a job as the status of its object and of its pods tells it."""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tfdistribute import errors
from tfdistribute.errors import TrainingError
from tfdistribute.files import parse_object
from tfdistribute.launch.platforms.kubernetes import CONTAINER
from tfdistribute.launch.platforms.platform import PlatformState, TaskState

Object = Mapping[str, Any]

# Labels of pods: of Kubeflow's operator, and of a Job.
_ROLE, _INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
_COMPLETION = "batch.kubernetes.io/job-completion-index"

# The conditions of both kinds of job that end them.
_ENDS = {"Succeeded": "done", "Complete": "done", "SuccessCriteriaMet": "done", "Failed": "failed"}

# Why a container does not start, although Kubernetes goes on trying.
_HINDRANCES = (
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
)
_OUT_OF_MEMORY = "OOMKilled"


def job_state(job: Object, pods: Sequence[Object]) -> PlatformState:
    """Read the state of a job.

    Args:
        job: A TFJob or a Job, as Kubernetes returns it.
    """
    status = _part(job, "status")
    conditions = {
        str(each["type"]): each for each in _rows(status, "conditions") if each["status"] == "True"
    }
    tasks = tuple(sorted((_task_state(pod) for pod in pods), key=_order))
    restarts = sum(_restarts(pod) for pod in pods) + int(status.get("failed") or 0)
    end = next((name for name in _ENDS if name in conditions), None)
    if end is None:
        return _running(tasks, pods, conditions, restarts, seconds_of(status.get("startTime")))
    state = _ENDS[end]
    said = str(conditions[end].get("message") or conditions[end].get("reason") or "")
    ended = status.get("completionTime") or conditions[end].get("lastTransitionTime")
    return PlatformState(
        state,
        "The job is done." if state == "done" else f"The job failed: {said}",
        tasks,
        failure=_failure(pods, said) if state == "failed" else None,
        restarts=restarts,
        started=seconds_of(status.get("startTime")),
        ended=seconds_of(ended) or time.time(),
    )


def task_of(pod: Object) -> str:
    labels = _part(pod, "metadata", "labels")
    annotations = _part(pod, "metadata", "annotations")
    if _ROLE in labels:
        return f"{str(labels[_ROLE]).lower()} {labels.get(_INDEX, 0)}"
    number = labels.get(_COMPLETION) or annotations.get(_COMPLETION)
    return str(pod["metadata"]["name"]) if number is None else _numbered(pod, int(number))


def seconds_of(text: object) -> float | None:
    """Return a time of Kubernetes, such as "2024-01-01T10:00:00Z", as epoch seconds; None if there is none."""
    try:
        return float(calendar.timegm(time.strptime(str(text), "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return None


def _numbered(pod: Object, number: int) -> str:
    """Return the task with a number in the addresses of an indexed Job."""
    from_environment = {
        each["name"]: each.get("value")
        for container in _rows(_part(pod, "spec"), "containers")
        for each in _rows(container, "env")
    }
    addresses = parse_object(str(from_environment.get("TFDISTRIBUTE_ADDRESSES"))) or {}
    for role in ("chief", "worker", "ps", "evaluator"):
        count = len(addresses.get(role) or ())
        if number < count:
            return f"{role} {number}"
        number -= count
    return str(pod["metadata"]["name"])


def _running(
    tasks: tuple[TaskState, ...],
    pods: Sequence[Object],
    conditions: Mapping[str, Object],
    restarts: int,
    started: float | None,
) -> PlatformState:
    notes = tuple(text for pod in pods if (text := _hindrance(pod)) is not None)
    if "Suspended" in conditions:
        return PlatformState("starting", "The job is suspended.", tasks, notes=notes)
    if "Restarting" in conditions:
        message = str(conditions["Restarting"].get("message") or "Tasks are restarted.")
        return PlatformState(
            "restarting", message, tasks, restarts=restarts, started=started, notes=notes
        )
    state = "running" if any(each.state == "running" for each in tasks) else "starting"
    message = (
        "The tasks are running." if state == "running" else "The containers are being started."
    )
    return PlatformState(state, message, tasks, restarts=restarts, started=started, notes=notes)


def _task_state(pod: Object) -> TaskState:
    phase = str(_part(pod, "status").get("phase") or "Pending")
    state = {"Running": "running", "Succeeded": "done", "Failed": "failed"}.get(phase, "starting")
    container = _container(pod)
    detail = _part(container, "waiting") or _part(container, "terminated")
    words = str(detail.get("reason") or phase)
    host = str(_part(pod, "spec").get("nodeName") or "")
    return TaskState(task_of(pod), host, state, words if state != "running" else "running")


def _container(pod: Object) -> Object:
    """Return the state of the task's container, with "waiting", "running" or "terminated"."""
    for each in _rows(_part(pod, "status"), "containerStatuses"):
        if each.get("name") == CONTAINER:
            return _part(each, "state")
    return {}


def _restarts(pod: Object) -> int:
    statuses = _rows(_part(pod, "status"), "containerStatuses")
    return sum(int(each.get("restartCount") or 0) for each in statuses)


def _hindrance(pod: Object) -> str | None:
    waiting = _part(_container(pod), "waiting")
    if waiting.get("reason") in _HINDRANCES:
        return f"{task_of(pod)} does not start: {waiting['reason']}: {waiting.get('message', '')}".rstrip(
            ": "
        )
    for each in _rows(_part(pod, "status"), "conditions"):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return f"{task_of(pod)} does not start: {each.get('message') or each.get('reason')}"
    return None


def _failure(pods: Sequence[Object], said: str) -> dict[str, Any]:
    """Return the failure of the task that failed first with a mistake, else of the one that failed first."""
    ended = [(pod, end) for pod in pods if (end := _part(_container(pod), "terminated"))]
    failed = [(pod, end) for pod, end in ended if end.get("exitCode")]
    failed.sort(key=lambda each: (each[1]["exitCode"] >= 128, str(each[1].get("finishedAt"))))
    if not failed:
        return {**errors.as_values(TrainingError(f"The job failed: {said}")), "task": None}
    pod, end = failed[0]
    task, code = task_of(pod), end["exitCode"]
    where = {"task": task, "host": _part(pod, "spec").get("nodeName"), "exit": code}
    words = parse_object(str(end.get("message") or ""))
    if words is not None and words.get("problem"):
        return {**{name: words.get(name) for name in errors.FIELDS}, **where}
    if end.get("reason") == _OUT_OF_MEMORY:
        error = TrainingError(
            f"{task} was ended because it took more memory than its container may have.",
            "Increase `memory`, or decrease the batch.",
        )
    else:
        error = TrainingError(
            f"{task} ended with {code}. {said}".strip(), "See its log: job_logs()."
        )
    return {**errors.as_values(error), **where}


def _part(value: Object, *names: str) -> Object:
    """Return a part of an object; an empty one if it is missing."""
    for name in names:
        value = cast("Object", value.get(name) or {})
    return value


def _rows(value: Object, name: str) -> list[Object]:
    """Return a list in an object; an empty one if it is missing."""
    return list(cast("Sequence[Object]", value.get(name) or ()))


def _order(task: TaskState) -> tuple[int, int]:
    role, _, index = task.task.partition(" ")
    roles = ("chief", "worker", "ps", "evaluator")
    return (
        roles.index(role) if role in roles else len(roles),
        int(index) if index.isdecimal() else 0,
    )
