"""Progress of a job: steps, losses, evaluations, lost steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from tfdistribute.history_file import COLUMNS, LossRows
from tfdistribute.task_events import number, whole_number


@dataclass
class Progress:
    """Events of chief and evaluator, merged over all restarts.

    Args:
        global_step: The last step; None before the first.
        last_step: The step at which the training will end; None if it is not known.
        speed: Examples per second of the chief.
        checkpoint: Step of the newest checkpoint; None before the first.
        steps_lost: Steps that were repeated because their result was lost.
        recorded_step: The step of the last row since the last start of the chief; None before it.
    """

    global_step: int | None = None
    last_step: int | None = None
    loss: float | None = None
    speed: float | None = None
    checkpoint: int | None = None
    steps_lost: int = 0
    stopped_by: str | None = None
    losses: LossRows = field(default_factory=LossRows)
    recorded_step: int | None = None
    evaluations: dict[int, dict[str, float | None]] = field(
        default_factory=dict[int, dict[str, float | None]]
    )

    def take(self, event: dict[str, Any], is_chief: bool) -> None:
        """Update the progress from one event; ``is_chief`` says whether the chief reported it."""
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
        elif event["event"] == "finished":
            self.global_step = step if step is not None else self.global_step
            stopped_by = event.get("stopped_by")
            self.stopped_by = None if stopped_by is None else str(stopped_by)

    def as_values(self) -> dict[str, Any]:
        return {**asdict(self), "evaluations": self.evaluation_rows}

    def restore(self, values: Mapping[str, Any]) -> None:
        for name in ("global_step", "last_step", "checkpoint"):
            setattr(self, name, whole_number(values.get(name)))
        self.steps_lost = whole_number(values.get("steps_lost")) or 0
        losses: dict[str, Any] = values.get("losses") or {}
        for row in losses.get("rows") or ():
            self.losses.take({name: number(row.get(name)) for name in COLUMNS})
        for row in values.get("evaluations") or ():
            step = whole_number(row.get("global_step"))
            if step is not None:
                self.evaluations[step] = {str(name): number(each) for name, each in row.items()}

    def _take_session(self, event: dict[str, Any], step: int) -> None:
        self.last_step = whole_number(event.get("last_step"))
        self.recorded_step = None
        if self.global_step is not None and step < self.global_step:
            # The chief restarted from a checkpoint.
            self.steps_lost += self.global_step - step
            self.global_step = step

    def _take_step(self, event: dict[str, Any], step: int) -> None:
        if self.global_step is not None and step <= self.global_step:
            # A script restarted from a checkpoint without reporting a session.
            self.steps_lost += self.global_step - step + 1
        self.global_step = step
        self.loss = number(event.get("loss")) if "loss" in event else self.loss
        self.speed = number(event.get("examples_per_second")) or self.speed

    def _take_evaluation(self, event: dict[str, Any], step: int) -> None:
        metrics = event.get("metrics")
        if isinstance(metrics, dict):
            named = cast("dict[str, Any]", metrics)
            values = {str(name): number(value) for name, value in named.items()}
            self.evaluations[step] = {**values, "global_step": float(step)}

    @property
    def newest_step(self) -> int | None:
        """The last step that was reported in any way; the last one of a training is only a row of its history."""
        known = (self.global_step, self.recorded_step)
        return max((step for step in known if step is not None), default=None)

    @property
    def evaluation_rows(self) -> list[dict[str, float | None]]:
        return [self.evaluations[step] for step in sorted(self.evaluations)]

    def as_columns(self) -> dict[str, Any]:
        return {
            "training": self.losses.columns(),
            "evaluation": self.evaluation_rows,
            "examples_per_second": self.losses.mean_speed() or self.speed,
            "stopped_by": self.stopped_by,
        }
