"""Progress, state and result of a job. State and result are JSON files that are replaced atomically."""

import contextlib
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from tfdistribute import files, storage
from tfdistribute.errors import BackendError
from tfdistribute.history_file import COLUMNS, LossRows
from tfdistribute.launch import job_files
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.logs import fallback_directory, is_usable
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_files import RESULT_FILE
from tfdistribute.launch.reports.goodput import Goodput
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.task_events import number, whole_number


@dataclass
class Progress:
    """Events of chief and evaluator, merged over all restarts.

    Args:
        last_step: Step at which the training will end; None if it is not known.
        rows_per_step: Rows of a global step; None if it is not known.
        recorded_step: Step of the last row since the last start of the chief.
        hosts: Hosts of the tasks that train, by rank.
        starts: Steps from which other hosts have trained, with their hosts.
    """

    global_step: int | None = None
    last_step: int | None = None
    loss: float | None = None
    checkpoint: int | None = None
    rows_per_step: int | None = None
    stopped_by: str | None = None
    losses: LossRows = field(default_factory=LossRows)
    recorded_step: int | None = None
    evaluations: dict[int, dict[str, float | None]] = field(
        default_factory=dict[int, dict[str, float | None]]
    )
    hosts: tuple[str, ...] = ()
    starts: list[tuple[int, tuple[str, ...]]] = field(
        default_factory=list[tuple[int, tuple[str, ...]]]
    )
    sums: Goodput = field(default_factory=Goodput)

    def take(self, event: dict[str, Any], is_chief: bool) -> None:
        step = whole_number(event.get("step"))
        if event["event"] == "evaluation" and step is not None:
            self._take_evaluation(event, step)
        if not is_chief:
            return
        if event["event"] == "session" and step is not None:
            self._take_session(event, step)
        elif event["event"] == "step" and step is not None:
            self._take_step(event, step)
        elif event["event"] == "record" and step is not None:
            self.losses.take({name: number(event.get(name)) for name in COLUMNS})
            self.recorded_step, self.loss = step, number(event.get("loss"))
        elif event["event"] == "checkpoint":
            self.checkpoint = step
            self.sums.mark("save", event["time"], step or 0)
        elif event["event"] == "finished":
            self.sums.mark("end", event["time"])
            self.global_step = step if step is not None else self.global_step
            stopped_by = event.get("stopped_by")
            self.stopped_by = None if stopped_by is None else str(stopped_by)

    def as_values(self) -> dict[str, Any]:
        return {**asdict(self), "evaluations": self.evaluation_rows}

    def restore(self, values: Mapping[str, Any]) -> None:
        for name in ("global_step", "last_step", "checkpoint", "rows_per_step"):
            setattr(self, name, whole_number(values.get(name)))
        self.sums = Goodput.restored(values["sums"]) if values.get("sums") else self.sums
        losses: dict[str, Any] = values.get("losses") or {}
        for row in losses.get("rows") or ():
            self.losses.take({name: number(row.get(name)) for name in COLUMNS})
        self.starts = [(int(step), tuple(hosts)) for step, hosts in values.get("starts") or ()]
        for row in values.get("evaluations") or ():
            step = whole_number(row.get("global_step"))
            if step is not None:
                self.evaluations[step] = {str(name): number(each) for name, each in row.items()}

    def _take_session(self, event: dict[str, Any], step: int) -> None:
        self.last_step = whole_number(event.get("last_step"))
        self.recorded_step = None
        self.rows_per_step = whole_number(event.get("rows_per_step"))
        self.sums.mark("session", event["time"], step)
        # Steps after this one are repeated.
        self.starts = [each for each in self.starts if each[0] < step]
        if not self.starts or self.starts[-1][1] != self.hosts:
            self.starts.append((step, self.hosts))
        if self.global_step is not None:
            # The chief may have restarted from a checkpoint.
            self.global_step = min(step, self.global_step)

    def _take_step(self, event: dict[str, Any], step: int) -> None:
        self.sums.mark("step", event["time"], step)
        self.global_step = step
        self.loss = number(event.get("loss")) if "loss" in event else self.loss

    def _take_evaluation(self, event: dict[str, Any], step: int) -> None:
        metrics = event.get("metrics")
        if isinstance(metrics, dict):
            named = cast("dict[str, Any]", metrics)
            values = {str(name): number(value) for name, value in named.items()}
            self.evaluations[step] = {**values, "global_step": float(step)}

    def goodput(self, now: float | None = None) -> Goodput:
        return self.sums.until(time.time() if now is None else now)

    @property
    def checkpoint_in_words(self) -> str:
        step = self.checkpoint
        return "" if step is None else f" Its last checkpoint is of step {step}."

    @property
    def newest_step(self) -> int | None:
        # The last step of a training is only reported as a row of its history.
        known = (self.global_step, self.recorded_step)
        return max((step for step in known if step is not None), default=None)

    @property
    def evaluation_rows(self) -> list[dict[str, float | None]]:
        return [self.evaluations[step] for step in sorted(self.evaluations)]

    @property
    def worker_rows(self) -> list[dict[str, Any]]:
        ends = [*(step for step, _ in self.starts), self.newest_step][1:]
        return [
            {"first_step": step, "last_step": end, "workers": len(hosts), "hosts": ", ".join(hosts)}
            for (step, hosts), end in zip(self.starts, ends, strict=True)
        ]

    def as_columns(self) -> dict[str, Any]:
        return {
            "training": self.losses.columns(),
            "evaluation": self.evaluation_rows,
            "examples_per_second": self.losses.mean_speed(),
            "stopped_by": self.stopped_by,
            "workers": self.worker_rows,
        }


@dataclass
class JobState:
    """The state of a whole job.

    Args:
        state: "starting", "training", "evaluating", "predicting", "restarting", "stopping", "done", "failed" or
            "stopped"; "queued" while it waits for a scheduler.
        logs: Directory of the logs; None before it was made.
        network: "private" or "open".
        started: Epoch seconds, as ``ended``.
        scheduler: Name of the scheduler that runs the supervisor, with its ``key`` of the job; None for a session.
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
    scheduler: str | None = None
    key: str | None = None

    def announce(self, text: str) -> None:
        """Make a text the message, and keep it as a note."""
        self.message = text
        self.note(text)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def as_values(
        self, tasks: Sequence[TaskProcess], progress: Progress, now: float
    ) -> dict[str, Any]:
        """Return the content of the file; ``now`` is monotonic time."""
        goodput = progress.goodput(self.ended)
        return {
            "id": self.job.id,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "scheduler": self.scheduler,
            "key": self.key,
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
            "examples_per_second": _speed_of(tasks),
            "checkpoint": progress.checkpoint,
            "network": self.network,
            "restarts": self.restarts,
            "steps_lost": goodput.steps_lost,
            "goodput": goodput.as_values(progress.rows_per_step) if self.job.trains else None,
            "notes": list(self.notes),
            "tasks": [_row(task, now) for task in tasks],
            "evaluations": progress.evaluation_rows,
            "failure": self.failure,
            "history": progress.as_columns() if self.ended is not None else None,
        }


def _speed_of(tasks: Sequence[TaskProcess]) -> float | None:
    # Each task reports the examples per second that it reads itself.
    return sum(task.view.speed or 0.0 for task in tasks if task.view.trains) or None


def write_result(values: dict[str, Any], directories: Sequence[str]) -> None:
    """Write the last state outside the private directory, which is removed with the job."""
    for directory in directories:
        if is_usable(directory):
            with contextlib.suppress(OSError):
                storage.write_object(os.path.join(directory, RESULT_FILE), values)
                return


def unknown_state(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state of a job without a supervisor."""
    empty: dict[str, Any] = {"notes": [], "tasks": [], "evaluations": [], "history": None}
    return {"global_step": None, **empty, **job}


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
    try:
        return job_files.read(directory, RESULT_FILE)
    except BackendError:
        return None


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
        **view.utilization,
        "seconds_since_step": None if since is None else round(since, 2),
        "log": task.log,
        "log_start": task.log_start,
    }
