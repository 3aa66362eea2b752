"""History of a training in a task, which is also reported to the supervisor."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute import task_events
from tfdistribute.inputs import Input
from tfdistribute.training.history import History
from tfdistribute.training.multi_worker.assignment import TaskAssignment
from tfdistribute.training.multi_worker.inputs import NOT_SHARDED

OTHER_SHARDS = (
    "The number of workers has changed. Each worker reads its own part of this input, so some rows of the epoch are "
    "read twice and others not. Rows in memory are read once."
)


@dataclass
class TaskHistory(History):
    """A History that reports its entries. It is the session's ``TrainingObserver``.

    Args:
        is_chief: Whether this task's losses are the losses of the training.
        own_batch_size: Examples that this task takes in one of its steps; None if not known.
    """

    is_chief: bool = False
    own_batch_size: int | None = None
    _own_steps: int | None = None
    _began: float = 0.0
    _loss: float | None = None

    @classmethod
    def of(cls, assignment: TaskAssignment) -> "TaskHistory":
        member, source = assignment.member, assignment.train.input
        batch = source.facts().global_batch_size
        sharers = len(member.training_tasks) if member.in_step else 1
        own = None if batch is None else batch // sharers
        model_dir = assignment.model.model_dir if member.is_chief else None
        history = cls(
            batch,
            assignment.listener,
            model_dir=model_dir,
            is_chief=member.is_chief,
            own_batch_size=own,
        )
        if source.shard_order() == "none" and len(member.training_tasks) > 1:
            history.note(NOT_SHARDED)
        return history

    def note_other_shards(self, source: Input) -> None:
        if self.is_chief and source.shard_order() in ("ranges", "own"):
            self.note(OTHER_SHARDS)

    def session_started(self, step: int) -> None:
        task_events.emit(
            "session",
            step=step,
            last_step=self.last_step,
            rows_per_step=self.global_batch_size,
        )

    def steps_taken(self, step: int, count: int) -> None:
        if self._own_steps is None:
            # The first step includes TensorFlow's start, so speed counts from its end.
            self._own_steps = 0
            self._began = time.monotonic()
        else:
            self._own_steps += count
        task_events.emit_step(step, self._loss, self._own_speed(), self.utilization.values)

    def checkpoint_saved(self, step: int) -> None:
        task_events.emit("checkpoint", step=step)
        # A chief that is stopped may be ended before it returns.
        super().checkpoint_saved(step)

    def note_step(self, step: int, loss: float, in_record: bool, at: float | None = None) -> None:
        self._loss = loss
        super().note_step(step, loss, in_record, at)
        if in_record and self.is_chief:
            task_events.emit(
                "record",
                step=self.steps[-1],
                loss=self.losses[-1],
                seconds=self.seconds[-1],
                examples_per_second=self.speeds[-1],
            )

    def note(self, text: str) -> None:
        is_new = text not in self.notes
        super().note(text)
        if is_new:
            task_events.emit("note", text=text)

    def note_progress(self, step: int) -> None:
        super().note_progress(step)
        task_events.emit_step(step)

    def note_losses(self, losses: Sequence[float], kept: int) -> None:
        super().note_losses(losses, kept)
        task_events.emit("evaluation", step=kept, metrics=self.evaluations[kept - 1])

    def note_evaluation(self, metrics: Mapping[str, Any]) -> None:
        super().note_evaluation(metrics)
        evaluation = self.evaluations[-1]
        step = int(evaluation.get("global_step", 0))
        task_events.emit("evaluation", step=step, metrics=evaluation)

    def _own_speed(self) -> float | None:
        seconds = time.monotonic() - self._began
        if self.own_batch_size is None or not self._own_steps or seconds <= 0:
            return None
        return self._own_steps * self.own_batch_size / seconds
