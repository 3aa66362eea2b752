"""A page that shows losses and metrics, also while a model trains: a script on it reads the metrics once a second."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

PAGE = "index.html"
METRICS = "metrics.js"

# A page is about this many pixels wide.
_MOST_POINTS = 1000
_WRITE_EVERY_S = 1.0

Evaluation = Mapping[str, float | None]


@dataclass(frozen=True)
class Metrics:
    """What the page shows.

    Args:
        state: "starting", "training", "done", "failed", "stopped" or what else a job does.
        message: Why the training ended, if it did not end by itself.
        step: The last step; None before the first.
        last_step: The step at which the training will end; None if it is not known.
        examples_per_second: Speed; None if it is not known.
        seconds_per_step: Mean time of a step; None if it is not known.
        losses: Steps and losses, by step.
        evaluations: Metrics of every evaluation with their ``global_step``, by step.
        tasks: Name, activity, step and examples per second of every task of a job.
        is_over: Whether nothing will change any more.
    """

    title: str
    state: str
    model_dir: str | None = None
    message: str | None = None
    step: int | None = None
    last_step: int | None = None
    examples_per_second: float | None = None
    seconds_per_step: float | None = None
    losses: Sequence[tuple[int, float | None]] = ()
    evaluations: Sequence[Evaluation] = ()
    tasks: Sequence[tuple[str, str, int | None, float | None]] = ()
    is_over: bool = False


class MetricsPage:
    """The page of one training.

    Args:
        directory: An empty directory for the page.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._written_at = -math.inf

    @property
    def is_due(self) -> bool:
        """Whether the last metrics were written at least a second ago."""
        return time.monotonic() - self._written_at >= _WRITE_EVERY_S

    def write(self, metrics: Metrics) -> None:
        """Replace what the page shows. A page whose directory is gone stays as it is."""
        self._written_at = time.monotonic()
        values = asdict(metrics)
        values["losses"] = thinned(metrics.losses)
        path = os.path.join(self.directory, METRICS)
        new = f"{path}.new"
        with contextlib.suppress(OSError):
            if not os.path.exists(page := os.path.join(self.directory, PAGE)):
                shutil.copyfile(Path(__file__).parent / PAGE, page)
            with open(new, "w", encoding="utf-8") as file:
                file.write(f"showMetrics({json.dumps(_finite(values))})\n")
            os.replace(new, path)


def title_of(model_dir: str | None) -> str:
    name = os.path.basename((model_dir or "").rstrip("/"))
    return f"Training in {name}" if name else "Training"


def thinned(
    losses: Sequence[tuple[int, float | None]], most: int = _MOST_POINTS
) -> list[tuple[int, float | None]]:
    """Return at most ``most`` of the losses, evenly spaced, the first and the last one among them."""
    last = len(losses) - 1
    if last < most:
        return list(losses)
    return [losses[round(at * last / (most - 1))] for at in range(most)]


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        named = cast("Mapping[str, Any]", value)
        return {name: _finite(named[name]) for name in named}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in cast("Sequence[Any]", value)]
    return value
