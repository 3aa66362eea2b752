"""A page that shows losses and metrics, also while a model trains. A script on it reads the metrics once a second."""

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tfdistribute.files import is_unnamed_model, json_values

PAGE = "index.html"
METRICS = "metrics.js"

# A page is about this many pixels wide.
_MOST_POINTS = 1000
_WRITE_EVERY_S = 1.0
# A file in the private directory of a job, with the directory of a page in every line.
REQUESTS = "pages"
_LOOK_EVERY_S = 1.0
# Share of the time from which waiting for input is shown.
_SHOWN_FROM = 0.2

# A row of the losses or of the evaluations.
Row = Mapping[str, float | None]


@dataclass(frozen=True)
class Metrics:
    """The content of the page.

    Args:
        state: "starting", "training", "done", "failed", "stopped" or another state of a job.
        message: Why the training ended, if it was interrupted or failed.
        step: The last step that was taken, or None.
        last_step: The step at which the training will end; None if it is not known.
        losses: Steps and losses, by step.
        evaluations: Metrics of every evaluation with their ``global_step``, by step.
        utilization: As from ``in_words``.
        tasks: Name, activity, step, examples per second and utilization of every task of a job.
        goodput: How the time of a job was spent, in words.
        is_over: Whether nothing will change any more.
    """

    title: str
    state: str
    model_dir: str | None = None
    message: str | None = None
    step: int | None = None
    last_step: int | None = None
    examples_per_second: float | None = None
    utilization: str = ""
    seconds_per_step: float | None = None
    losses: Sequence[tuple[int, float | None]] = ()
    evaluations: Sequence[Row] = ()
    tasks: Sequence[tuple[str, str, int | None, float | None, str]] = ()
    goodput: str = ""
    is_over: bool = False


class MetricsPage:
    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._written_at = -math.inf

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._written_at >= _WRITE_EVERY_S

    def write(self, metrics: Metrics) -> None:
        self._written_at = time.monotonic()
        values = asdict(metrics)
        values["losses"] = thin(metrics.losses)
        home = os.path.expanduser("~")
        model_dir = metrics.model_dir or ""
        if model_dir.startswith(home + os.sep):
            values["model_dir"] = "~" + model_dir[len(home) :]
        if is_unnamed_model(model_dir):
            values["model_dir"] = None
        path = os.path.join(self.directory, METRICS)
        new = f"{path}.new"
        with contextlib.suppress(OSError):
            if not os.path.exists(page := os.path.join(self.directory, PAGE)):
                shutil.copyfile(Path(__file__).parent / PAGE, page)
            with open(new, "w", encoding="utf-8") as file:
                file.write(f"showMetrics({json.dumps(json_values(values))})\n")
            os.replace(new, path)


def title_of(model_dir: str | None) -> str:
    name = os.path.basename((model_dir or "").rstrip("/"))
    return f"Training in {name}" if name and not is_unnamed_model(name) else "Training"


def thin(
    losses: Sequence[tuple[int, float | None]], most: int = _MOST_POINTS
) -> list[tuple[int, float | None]]:
    last = len(losses) - 1
    if last < most:
        return list(losses)
    return [losses[round(at * last / (most - 1))] for at in range(most)]


def request_page(directory: str, page: str) -> None:
    with open(os.path.join(directory, REQUESTS), "a", encoding="utf-8") as file:
        file.write(f"{page}\n")


class JobPages:
    def __init__(self, directory: str) -> None:
        self._requests = os.path.join(directory, REQUESTS)
        self._looked_at = 0.0

    def write(self, values: Mapping[str, Any], losses: Sequence[Row]) -> None:
        now = time.monotonic()
        if now - self._looked_at < _LOOK_EVERY_S and values["ended"] is None:
            return
        self._looked_at = now
        try:
            with open(self._requests, encoding="utf-8") as file:
                directories = file.read().splitlines()
        except OSError:
            return
        for directory in directories:
            MetricsPage(directory).write(metrics_of(values, losses))


def metrics_of(values: Mapping[str, Any], losses: Sequence[Row] = ()) -> Metrics:
    """Return the metrics of a job's state; ``losses`` are the rows so far of one that runs."""
    points = [(int(row["step"] or 0), row["loss"]) for row in losses]
    # The state of a job has its losses once it has ended.
    if not points and values.get("history") is not None:
        training = values["history"]["training"]
        points = list(zip(training["step"], training["loss"], strict=True))
    failure: Mapping[str, Any] | None = values.get("failure")
    goodput: Mapping[str, Any] | None = values.get("goodput")
    return Metrics(
        title_of(values.get("model_dir")),
        str(values["state"]),
        model_dir=values.get("model_dir"),
        message=None if failure is None else failure.get("problem"),
        step=values.get("global_step"),
        last_step=values.get("max_steps"),
        examples_per_second=values.get("examples_per_second"),
        seconds_per_step=_seconds_per_step(losses),
        losses=points,
        evaluations=values.get("evaluations") or (),
        tasks=[
            (row["task"], row["activity"], row["step"], row["examples_per_second"], in_words(row))
            for row in values.get("tasks") or ()
        ],
        goodput="" if goodput is None else goodput["text"],
        is_over=values.get("ended") is not None,
    )


def in_words(values: Mapping[str, Any]) -> str:
    """Return text such as "GPU 85%, 12.0 GB, 250 W, waits for input 62%" for values of a ``Utilization``."""
    names = ("input_wait", "gpu_utilization", "gpu_memory_mb", "gpu_power_w")
    wait, busy, memory, power = (values.get(name) for name in names)
    words = [] if busy is None else [f"GPU {busy:.0%}"]
    words += [] if memory is None else [f"{memory / 1024:.1f} GB"]
    words += [] if power is None else [f"{power:.0f} W"]
    words += [] if wait is None or wait < _SHOWN_FROM else [f"waits for input {wait:.0%}"]
    return ", ".join(words)


def _seconds_per_step(losses: Sequence[Row]) -> float | None:
    if len(losses) < 2:
        return None
    first, last = losses[0], losses[-1]
    seconds = (last["seconds"] or 0.0) - (first["seconds"] or 0.0)
    steps = (last["step"] or 0.0) - (first["step"] or 0.0)
    return seconds / steps if steps > 0 else None
