"""History of a training: losses by step, speed and evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Listener = Callable[[dict[str, Any]], Any]


@dataclass
class History:
    """Losses, speed and evaluations of one training.

    Args:
        global_batch_size: Examples per step over all replicas; None if not known.
        listener: Called with every entry, for a progress display; or None.
        last_step: Step at which training will end; None if the input ends it.
        stopped_by: The hook that ended the training before its steps or its data did, or None.
        notes: Settings that the training could not follow, one sentence each.
    """

    global_batch_size: int | None = None
    listener: Listener | None = None
    last_step: int | None = None
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    evaluations: list[dict[str, float]] = field(default_factory=list)
    stopped_by: str | None = None
    notes: list[str] = field(default_factory=list)
    _started: tuple[float, int] | None = None
    _interval: tuple[float, int] | None = None

    def note_step(self, step: int, loss: float, in_record: bool, at: float | None = None) -> None:
        """Note the loss of one step.

        Args:
            step: The global step after the update.
            loss: Mean loss over the step's examples.
            in_record: Whether the step belongs to the record; others only go to the listener.
            at: When the step was taken, on ``time.monotonic``; None for now. The listener gets current steps only.
        """
        now = time.monotonic() if at is None else at
        # The first step includes TensorFlow's start, so speed counts from its end.
        self._started = self._started or (now, step)
        self._interval = self._interval or (now, step)
        speed = self._speed(self._interval, now, step)
        if in_record:
            self.steps.append(step)
            self.losses.append(loss)
            self.seconds.append(now - self._started[0])
            self.speeds.append(speed)
            self._interval = (now, step)
        if self.listener is not None and at is None:
            self.listener(
                {
                    "event": "step",
                    "step": step,
                    "loss": loss,
                    "last_step": self.last_step,
                    "examples_per_second": self._speed(self._started, now, step),
                }
            )

    def _speed(self, since: tuple[float, int], now: float, step: int) -> float:
        seconds, steps = now - since[0], step - since[1]
        if self.global_batch_size is None or steps == 0 or seconds <= 0:
            return float("nan")
        return steps * self.global_batch_size / seconds

    def exclude(self, seconds: float) -> None:
        """Exclude time that was not spent on training, such as that of an evaluation."""
        if self._started is not None and self._interval is not None:
            self._started = (self._started[0] + seconds, self._started[1])
            self._interval = (self._interval[0] + seconds, self._interval[1])

    def note(self, text: str) -> None:
        """Note, once, a sentence about a setting that could not be followed."""
        if text in self.notes:
            return
        self.notes.append(text)
        if self.listener is not None:
            self.listener({"event": "note", "text": text})

    def note_evaluation(self, metrics: Mapping[str, Any]) -> None:
        """Note the metrics of one evaluation, ``global_step`` among them."""
        self.evaluations.append({name: float(value) for name, value in metrics.items()})
        if self.listener is not None:
            self.listener({"event": "evaluation", **self.evaluations[-1]})

    @property
    def examples_per_second(self) -> float:
        """Speed over the whole training without its first step."""
        if self._started is None:
            return float("nan")
        return self._speed(
            self._started, self._started[0] + (self.seconds or [0.0])[-1], (self.steps or [0])[-1]
        )

    def as_columns(self) -> dict[str, Any]:
        """Return the history as plain values.

        Returns:
            ``training`` with columns of equal length, ``evaluation`` as one mapping per evaluation,
            ``examples_per_second``, ``stopped_by`` and ``notes``.
        """
        return {
            "training": {
                "step": list(self.steps),
                "loss": list(self.losses),
                "seconds": list(self.seconds),
                "examples_per_second": list(self.speeds),
            },
            "evaluation": list(self.evaluations),
            "examples_per_second": self.examples_per_second,
            "stopped_by": self.stopped_by,
            "notes": list(self.notes),
        }
