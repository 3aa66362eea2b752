"""Jobs on managed platforms, with the same operations as a job with a supervisor."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any, cast

from tfdistribute import history_file
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.cluster.managed import ManagedCluster
from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import read
from tfdistribute.errors import ClusterError, TfdistributeError
from tfdistribute.files import is_remote
from tfdistribute.launch.host.logs import check_has_log, choose_lines
from tfdistribute.launch.job import Job
from tfdistribute.launch.platforms import platform_of
from tfdistribute.launch.platforms.archive import pack
from tfdistribute.storage.deadline import READ_S, reason_of, within

# Interval between two questions for the state of a job.
_EVERY_S = 2.0

Handle = Mapping[str, Any]

# How long storage is not asked again that did not answer.
_SILENT_S = 60.0
_silent_until: dict[str, float] = {}

# The last state of each job, and when it was asked for.
_known: dict[str, tuple[float, dict[str, Any]]] = {}


def is_submitted(job: Handle) -> bool:
    return bool(job.get("submitted"))


def describe_job(cluster: ManagedCluster, id: str, **fields: Any) -> Job:  # noqa: A002
    """Make the job for a platform; ClusterError if model_dir is lost with the containers."""
    name = f"{cluster.name}-{hashlib.sha256(id.encode()).hexdigest()[:8]}"
    job = read(Job, {**fields, "id": name, "cluster": cluster})
    check_model_dir(cluster, job.model_dir)
    return job


def check_model_dir(cluster: ManagedCluster, model_dir: str | None) -> None:
    """Check that model_dir outlives the containers and is the same for all of them."""
    if model_dir is not None and not cluster.keeps(model_dir):
        raise ClusterError(
            f'`model_dir` "{model_dir}" is inside the containers, and is lost with them.',
            cluster.how_to_keep,
            value=model_dir,
        )


def submit(job: Job) -> dict[str, Any]:
    """Submit a job whose private directory holds what its tasks read, and return its handle."""
    cluster = cast("ManagedCluster", job.cluster)
    name = platform_of(cluster).submit(job, pack(job.directory))
    return {
        "id": job.id,
        "pid": None,
        "directory": None,
        "logs": None,
        "model_dir": job.model_dir,
        "verb": job.verb,
        "submitted": {
            "name": name,
            "cluster": {"kind": cluster.kind, **dataclasses.asdict(cluster)},
            "max_steps": job.max_steps,
        },
    }


def describe(job: Job) -> tuple[str, bytes]:
    archive = pack(job.directory)
    described = platform_of(cast("ManagedCluster", job.cluster)).describe(job, archive)
    return json.dumps(described, indent=2) + "\n", archive


def job_state(job: Handle) -> dict[str, Any]:
    """Read the state of a job in a supervisor's form, asking the platform at most every two seconds."""
    now = time.monotonic()
    asked_at, known = _known.get(str(job["id"]), (-_EVERY_S, {}))
    if known.get("ended") is None and now - asked_at >= _EVERY_S:
        known = _ask(job)
        _known[str(job["id"])] = (now, known)
    return known


def job_logs(job: Handle, task: str | None, level: str) -> list[str]:
    cluster, name = _cluster_and_name(job)
    lines_by_task = platform_of(cluster).logs(name)
    check_has_log(task, list(lines_by_task))
    if task is not None:
        return choose_lines(lines_by_task[task], level)[0]
    return [
        f"[{name}] {line}"
        for name, lines in lines_by_task.items()
        for line in choose_lines(lines, level)[0]
    ]


def stop_job(job: Handle) -> dict[str, Any]:
    cluster, name = _cluster_and_name(job)
    platform_of(cluster).cancel(name)
    _known.pop(str(job["id"]), None)
    return job_state(job)


def _ask(job: Handle) -> dict[str, Any]:
    cluster, name = _cluster_and_name(job)
    state = platform_of(cluster).state(name)
    read_here = _read_model(job.get("model_dir"), state.ended is not None)
    return {
        **dataclasses.asdict(state),
        **read_here,
        "notes": [*state.notes, *read_here["notes"]],
        "id": job["id"],
        "verb": job["verb"],
        "state": "training" if state.state == "running" else state.state,
        "model_dir": job.get("model_dir"),
        "logs": None,
        "max_steps": job["submitted"].get("max_steps"),
        "evaluations": [],
    }


def _read_model(model_dir: str | None, has_ended: bool) -> dict[str, Any]:
    """Read the step and, at the end, the history; with a note if the storage does not answer."""
    unread: dict[str, Any] = {"global_step": None, "history": None, "notes": []}
    # Only the containers see the model.
    if model_dir is None or not is_remote(model_dir):
        return unread
    if not has_ended and time.monotonic() < _silent_until.get(model_dir, 0.0):
        return unread
    try:
        return {**unread, **within(READ_S, lambda: _read_records(model_dir, has_ended))}
    except (OSError, TfdistributeError) as error:
        _silent_until[model_dir] = time.monotonic() + _SILENT_S
        note = f'`model_dir` "{model_dir}" could not be read from here: {reason_of(error)}.'
        return {**unread, "notes": [note]}


def _read_records(model_dir: str, has_ended: bool) -> dict[str, Any]:
    step = newest_step(model_dir) or None
    if not has_ended:
        return {"global_step": step}
    losses = history_file.read_losses(model_dir)
    history = {
        "training": losses.columns(),
        "evaluation": history_file.read_evaluations(model_dir),
        "examples_per_second": losses.mean_speed(),
        "stopped_by": None,
    }
    return {"global_step": step, "history": history}


def _cluster_and_name(job: Handle) -> tuple[ManagedCluster, str]:
    submitted = job["submitted"]
    return cast("ManagedCluster", read(Cluster, submitted["cluster"])), str(submitted["name"])
