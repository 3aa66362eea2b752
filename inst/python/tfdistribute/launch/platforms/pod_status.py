"""The state of a job from the status of its object and of its pods."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from tfdistribute import errors
from tfdistribute.cluster.managed import KubernetesCluster
from tfdistribute.errors import TrainingError
from tfdistribute.files import parse_object
from tfdistribute.launch.platforms.kubernetes import CONTAINER
from tfdistribute.launch.platforms.platform import PlatformState, TaskState

Object = Mapping[str, Any]

# Labels of pods: of Kubeflow's operator, and of a Job.
_ROLE, _INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
_COMPLETION = "batch.kubernetes.io/job-completion-index"

# The conditions that end a job, of all kinds.
_ENDS = {"Succeeded": "done", "Complete": "done", "SuccessCriteriaMet": "done", "Failed": "failed"}

_PHASES = {"Running": "running", "Succeeded": "done", "Failed": "failed"}

# A container waits for other reasons, such as "ImagePullBackOff", until a person does something.
_STARTING = ("ContainerCreating", "PodInitializing")
_NOTHING: Object = {}
_OUT_OF_MEMORY = "OOMKilled"


def job_state(cluster: KubernetesCluster, job: Object, pods: Sequence[Object]) -> PlatformState:
    status = _part(job, "status")
    conditions = {
        str(each["type"]): each for each in _rows(status, "conditions") if each["status"] == "True"
    }
    names = [str(task) for task in cluster.tasks]
    named = [(task_of(cluster, pod), pod) for pod in pods]
    named.sort(key=lambda each: names.index(each[0]) if each[0] in names else len(names))
    end = next((name for name in _ENDS if name in conditions), None)
    state, message = (
        _running(cluster, named, conditions) if end is None else (_ENDS[end], "The job is done.")
    )
    failure, ended = None, None
    if end is not None:
        moment = status.get("completionTime") or conditions[end].get("lastTransitionTime")
        ended = seconds_of(moment) or time.time()
        if state == "failed":
            said = str(conditions[end].get("message") or conditions[end].get("reason") or "")
            message, failure = f"The job failed: {said}", _failure(named, said)
    return PlatformState(
        state,
        message,
        [_task_state(task, pod) for task, pod in named],
        failure=failure,
        restarts=sum(map(_restarts, pods)) + int(status.get("failed") or 0),
        started=seconds_of(status.get("startTime")),
        ended=ended,
        notes=[] if end else [note for each in named if (note := _hindrance(*each))],
    )


def task_of(cluster: KubernetesCluster, pod: Object) -> str:
    labels = _part(pod, "metadata", "labels")
    if _ROLE in labels:
        return f"{str(labels[_ROLE]).lower()} {labels.get(_INDEX, 0)}"
    number = labels.get(_COMPLETION) or _part(pod, "metadata", "annotations").get(_COMPLETION)
    # The pods of a Job have the order of the tasks, of which an evaluator is the last.
    return str(pod["metadata"]["name"] if number is None else cluster.tasks[int(number)])


def seconds_of(text: object) -> float | None:
    """Return a time such as "2024-01-01T10:00:00Z" as epoch seconds; None if there is none."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _running(
    cluster: KubernetesCluster, named: Sequence[tuple[str, Object]], conditions: Object
) -> tuple[str, str]:
    if "Suspended" in conditions:
        waits = f"waits in the queue {cluster.queue}" if cluster.queue else "is suspended"
        return "starting", f"The job {waits}."
    if "Restarting" in conditions:
        return "restarting", str(conditions["Restarting"].get("message") or "Tasks are restarted.")
    if any(_part(pod, "status").get("phase") == "Running" for _, pod in named):
        return "running", "The tasks are running."
    return "starting", "The containers are being started."


def _task_state(task: str, pod: Object) -> TaskState:
    phase = str(_part(pod, "status").get("phase") or "Pending")
    state = _PHASES.get(phase, "starting")
    container = _container(pod)
    detail = _part(container, "waiting") or _part(container, "terminated")
    words = "running" if state == "running" else str(detail.get("reason") or phase)
    return TaskState(task, str(_part(pod, "spec").get("nodeName") or ""), state, words)


def _container(pod: Object) -> Object:
    # The state has "waiting", "running" or "terminated".
    statuses = _rows(_part(pod, "status"), "containerStatuses")
    return next(
        (_part(each, "state") for each in statuses if each.get("name") == CONTAINER), _NOTHING
    )


def _restarts(pod: Object) -> int:
    statuses = _rows(_part(pod, "status"), "containerStatuses")
    return sum(int(each.get("restartCount") or 0) for each in statuses)


def _hindrance(task: str, pod: Object) -> str | None:
    waiting = _part(_container(pod), "waiting")
    reason, message = waiting.get("reason"), waiting.get("message")
    if reason and reason not in _STARTING:
        return f"{task} does not start: {reason}{f': {message}' if message else ''}"
    for each in _rows(_part(pod, "status"), "conditions"):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return f"{task} does not start: {each.get('message') or each.get('reason')}"
    return None


def _failure(named: Sequence[tuple[str, Object]], said: str) -> dict[str, Any]:
    # The first task that failed with a mistake counts, else the first that failed.
    ended = [(task, pod, _part(_container(pod), "terminated")) for task, pod in named]
    failed = [each for each in ended if each[2].get("exitCode")]
    if not failed:
        return {**errors.as_values(TrainingError(f"The job failed: {said}")), "task": None}
    task, pod, end = min(
        failed, key=lambda each: (each[2]["exitCode"] >= 128, str(each[2].get("finishedAt")))
    )
    code = end["exitCode"]
    words = parse_object(str(end.get("message") or ""))
    if words is not None and words.get("problem"):
        failure = {name: words.get(name) for name in errors.FIELDS}
    elif end.get("reason") == _OUT_OF_MEMORY:
        failure = errors.as_values(
            TrainingError(
                f"{task} was ended because it took more memory than its container may have.",
                "Increase `memory`, or decrease the batch.",
            )
        )
    else:
        text = f"{task} ended with {code}. {said}".strip()
        failure = errors.as_values(TrainingError(text, "See its log: job_logs()."))
    return {**failure, "task": task, "host": _part(pod, "spec").get("nodeName"), "exit": code}


def _part(value: Object, *names: str) -> Object:
    for name in names:
        value = cast("Object", value.get(name) or _NOTHING)
    return value


def _rows(value: Object, name: str) -> list[Object]:
    return list(cast("Sequence[Object]", value.get(name) or ()))
