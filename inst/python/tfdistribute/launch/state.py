"""State and result of a job as JSON files that are replaced atomically."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tfdistribute import files, storage
from tfdistribute.errors import BackendError
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.logs import fallback_directory, is_usable
from tfdistribute.launch.job import Job
from tfdistribute.launch.progress import Progress
from tfdistribute.launch.task_process import TaskProcess

STATE_FILE = "state.json"
RESULT_FILE = "result.json"

# The end of a supervisor that will be started again.
QUEUED = "queued"
ENDED = ("done", "failed", "stopped", QUEUED)

# Intervals between two writes, with news and without.
_NEWS_INTERVAL_S = 0.1
_IDLE_INTERVAL_S = 1.0


@dataclass
class JobState:
    """The state of a whole job.

    Args:
        state: "starting", "training", "evaluating", "predicting", "restarting", "stopping", "done", "failed" or
            "stopped"; "queued" while it waits for a scheduler.
        message: The state as a sentence.
        logs: Directory of the logs; None before it was made.
        network: "private" or "open".
        failure: The root cause; None without a failure.
        started: Epoch seconds.
        ended: Epoch seconds; None before the end.
        slurm_id: Its number in Slurm; None elsewhere.
    """

    job: Job
    state: str = "starting"
    message: str = "The tasks are being started."
    logs: str | None = None
    network: str = "open"
    restarts: int = 0
    notes: list[str] = field(default_factory=list[str])
    failure: dict[str, Any] | None = None
    started: float = field(default_factory=time.time)
    ended: float | None = None
    slurm_id: str | None = None

    def note(self, text: str) -> None:
        """Add a note for the user, once."""
        if text not in self.notes:
            self.notes.append(text)

    def as_values(
        self, tasks: Sequence[TaskProcess], progress: Progress, now: float
    ) -> dict[str, Any]:
        """Return the state as plain values, the content of the file; ``now`` is monotonic time."""
        return {
            "id": self.job.id,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "slurm_id": self.slurm_id,
            "verb": self.job.verb,
            "started": self.started,
            "ended": self.ended,
            "state": self.state,
            "message": self.message,
            "model_dir": self.job.model_dir,
            "logs": self.logs,
            "global_step": progress.newest_step,
            "max_steps": progress.last_step or self.job.max_steps,
            "loss": progress.loss,
            "examples_per_second": progress.speed,
            "checkpoint": progress.checkpoint,
            "network": self.network,
            "restarts": self.restarts,
            "steps_lost": progress.steps_lost,
            "notes": list(self.notes),
            "tasks": [_row(task, now) for task in tasks],
            "evaluations": progress.evaluation_rows,
            "failure": self.failure,
            "history": progress.as_columns() if self.ended is not None else None,
        }


class StateFile:
    """The state file of a job."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._written_at = 0.0
        self._news = True

    def mark_news(self) -> None:
        self._news = True

    def is_due(self, now: float) -> bool:
        return now - self._written_at >= (_NEWS_INTERVAL_S if self._news else _IDLE_INTERVAL_S)

    def write(self, values: dict[str, Any], now: float) -> None:
        """Replace the file; if that fails, keep the old one."""
        self._written_at, self._news = now, False
        with contextlib.suppress(OSError):
            replace(self.path, values)


def write_result(values: dict[str, Any], directories: Sequence[str]) -> None:
    """Write the last state outside the private directory, which is removed with the job."""
    for directory in directories:
        if is_usable(directory):
            with contextlib.suppress(OSError):
                replace(os.path.join(directory, RESULT_FILE), values)
                return


def result_of(job: Mapping[str, Any]) -> dict[str, Any] | None:
    fallback = fallback_directory(str(job["id"]))
    # While the job has its private directory, its logs are not remote.
    has_ended = not os.path.isdir(str(job.get("directory")))
    remote = remote_logs(job.get("model_dir")) if has_ended else None
    for directory in dict.fromkeys((job.get("logs"), remote, fallback)):
        if directory is None:
            continue
        if directory == fallback and not private_directory.is_private(fallback):
            continue
        result = read_result(str(directory))
        if result is not None and result.get("id") == job["id"]:
            return result
    return None


def remote_logs(model_dir: str | None) -> str | None:
    """Return the directory of the logs in a remote model directory once a job has ended; None for a local one."""
    is_remote = model_dir is not None and files.is_remote(model_dir)
    return f"{model_dir.rstrip('/')}/logs" if is_remote and model_dir else None


def read_result(directory: str) -> dict[str, Any] | None:
    """Read the result in a directory of logs; None if there is none, or it is remote and TensorFlow is missing."""
    path = os.path.join(directory, RESULT_FILE)
    if not files.is_remote(path):
        return read_json(path)
    try:
        return files.parse_object(storage.read_if_any(path))
    except (OSError, BackendError):
        return None


def read_json(path: str) -> dict[str, Any] | None:
    try:
        value = files.parse_json(storage.read_own(path))
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def replace(path: str, values: dict[str, Any]) -> None:
    """Write plain values as JSON; readers see either the old file or the new one.

    Raises:
        OSError: the file cannot be written.
    """
    # json.dump() would encode in Python, at many times the cost.
    storage.of(path).write(path, json.dumps(values).encode())


def _row(task: TaskProcess, now: float) -> dict[str, Any]:
    view = task.view
    since = None if view.stepped_at is None or not view.is_running else now - view.stepped_at
    return {
        "task": task.name,
        "host": view.host,
        "pid": view.pid if view.is_running else None,
        "port": task.port,
        "state": view.state,
        "activity": view.activity,
        "step": view.step,
        "examples_per_second": view.speed,
        "seconds_since_step": None if since is None else round(since, 2),
        "log": task.log,
        "log_start": task.log_start,
    }
