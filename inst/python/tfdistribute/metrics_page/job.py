"""Metrics pages of a job, which its supervisor writes while it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tfdistribute.metrics_page import Metrics, MetricsPage, title_of

# A row of the losses: step, loss, seconds and more.
Row = Mapping[str, float | None]

# A file in the private directory of a job, with the directory of a page in every line.
REQUESTS = "pages"

_LOOK_EVERY_S = 1.0


def request_page(directory: str, page: str) -> None:
    """Ask the supervisor of the job with this private directory to write the page in a directory."""
    with open(os.path.join(directory, REQUESTS), "a", encoding="utf-8") as file:
        file.write(f"{page}\n")


class JobPages:
    """The pages of one job, as its supervisor sees them."""

    def __init__(self, directory: str) -> None:
        self._requests = os.path.join(directory, REQUESTS)
        self._looked_at = 0.0

    def write(self, values: Mapping[str, Any], losses: Sequence[Row]) -> None:
        """Write all requested pages once a second, and at the end of the job."""
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
            (row["task"], row["activity"], row["step"], row["examples_per_second"])
            for row in values.get("tasks") or ()
        ],
        is_over=values.get("ended") is not None,
    )


def _seconds_per_step(losses: Sequence[Row]) -> float | None:
    if len(losses) < 2:
        return None
    first, last = losses[0], losses[-1]
    seconds = (last["seconds"] or 0.0) - (first["seconds"] or 0.0)
    steps = (last["step"] or 0.0) - (first["step"] or 0.0)
    return seconds / steps if steps > 0 else None
