"""History of a training: losses by step, speed and evaluations."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfdistribute import history_file, storage
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.columns import InputFacts
from tfdistribute.errors import BackendError, ModelDirectoryError, ModelError
from tfdistribute.files import is_remote
from tfdistribute.storage.deadline import READ_S, within
from tfdistribute.training.utilization import Utilization

Listener = Callable[[dict[str, Any]], Any]

# An update of R's progress bar takes about a tenth of a millisecond.
REPORT_EVERY_S = 0.1
# What ends sooner needs no progress display.
FIRST_REPORT_S = 1.0
# Interval between two writes of the losses to a local model directory; a remote one gets them with checkpoints.
_SAVE_EVERY_S = 1.0


class BatchProgress:
    def __init__(
        self, verb: str, listener: Listener | None, facts: InputFacts, steps: int | None = None
    ) -> None:
        self._verb = verb
        self._listener = listener
        self._batch_size = facts.global_batch_size
        self._last = total_batches(facts, steps)
        self._began = self._reported = time.monotonic()
        self._every_s = FIRST_REPORT_S

    def note_batch(self, batch: int) -> None:
        now = time.monotonic()
        if self._listener is None or now - self._reported < self._every_s:
            return
        self._reported, self._every_s = now, REPORT_EVERY_S
        rows = float("nan") if self._batch_size is None else batch * self._batch_size
        self._listener(
            {
                "event": "batch",
                "verb": self._verb,
                "step": batch,
                "last_step": self._last,
                "examples_per_second": rows / (now - self._began),
            }
        )


def total_batches(facts: InputFacts, steps: int | None = None) -> int | None:
    if facts.rows is None or facts.epochs is None or facts.global_batch_size is None:
        return steps
    known = math.ceil(facts.rows * facts.epochs / facts.global_batch_size)
    return known if steps is None else min(known, steps)


@dataclass
class History:
    """Losses, speed and evaluations of one training.

    Args:
        global_batch_size: Examples per step over all replicas; None if not known.
        listener: Called with every entry, for a progress display; or None.
        last_step: Step at which training will end; None if it is not known.
        model_dir: Where losses and evaluations are also saved; None for a task that does not write.
        log: Called with the step and the numbers of each record and evaluation; or None.
        stopped_by: The hook that ended the training before its steps or its data did, or None.
        notes: Settings that the training could not follow, one sentence each.
        compiled: Whether XLA compiled the steps.
        utilization: Waiting for input, and use of GPUs.
    """

    global_batch_size: int | None = None
    listener: Listener | None = None
    last_step: int | None = None
    model_dir: str | None = None
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    evaluations: list[dict[str, float]] = field(default_factory=list)
    log: Callable[[int, Mapping[str, float]], Any] | None = None
    stopped_by: str | None = None
    notes: list[str] = field(default_factory=list)
    compiled: bool = False
    utilization: Utilization = field(default_factory=Utilization)
    _started: tuple[float, int] | None = None
    _interval: tuple[float, int] | None = None
    _saved: int = 0
    _saved_at: float = 0.0

    def note_step(self, step: int, loss: float, in_record: bool, at: float | None = None) -> None:
        """Note the loss of one step.

        Args:
            step: The global step that the update reached.
            in_record: Whether the step belongs to the record; others only go to the listener.
            at: Time of the step on ``time.monotonic``; None for now. The listener gets current steps only.
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
            if self.log is not None:
                values = (loss, self.seconds[-1], speed)
                self.log(step, dict(zip(history_file.COLUMNS[1:], values, strict=True)))
            if time.monotonic() - self._saved_at >= _SAVE_EVERY_S and not self.saves_rarely:
                self._save_losses()
        if self.listener is not None and at is None:
            self.listener(
                {
                    "event": "step",
                    "step": step,
                    "loss": loss,
                    "last_step": self.last_step,
                    "examples_per_second": self._speed(self._started, now, step),
                    **self.utilization.values,
                }
            )

    def note_progress(self, step: int) -> None:
        """Report a step whose loss is noted later."""
        if self.listener is not None:
            self.listener(
                {
                    "event": "step",
                    "step": step,
                    "last_step": self.last_step,
                    "examples_per_second": float("nan"),
                }
            )

    @property
    def saves_rarely(self) -> bool:
        """Whether losses are saved only with checkpoints and evaluations, because each write contains all of them."""
        return self.model_dir is not None and is_remote(self.model_dir)

    def checkpoint_saved(self, step: int) -> None:
        self._save_losses()

    def _speed(self, since: tuple[float, int], now: float, step: int) -> float:
        seconds, steps = now - since[0], step - since[1]
        if self.global_batch_size is None or steps == 0 or seconds <= 0:
            return float("nan")
        return steps * self.global_batch_size / seconds

    def exclude(self, seconds: float) -> None:
        if self._started is not None and self._interval is not None:
            self._started = (self._started[0] + seconds, self._started[1])
            self._interval = (self._interval[0] + seconds, self._interval[1])

    def note(self, text: str) -> None:
        if text in self.notes:
            return
        self.notes.append(text)
        if self.listener is not None:
            self.listener({"event": "note", "text": text})

    def note_end_of_data(self, of_data: int | None, asked: int | None) -> None:
        if of_data is not None and asked is not None and of_data < asked:
            self.note(
                f"The data ends after {of_data} of the {asked} steps to train. "
                "To repeat it, use `epochs = NULL` in the input."
            )

    def note_compilation(self) -> None:
        """Note that XLA has compiled the steps."""
        self.compiled = True

    @contextlib.contextmanager
    def save(self) -> Iterator[None]:
        """Save the losses of the training inside the block, and end its progress display.

        A KeyboardInterrupt gets a text that reports where the training continues.
        """
        try:
            yield
        except KeyboardInterrupt as interrupt:
            raise KeyboardInterrupt(*(interrupt.args or self._stopped_texts())) from interrupt
        finally:
            self._save_losses()
            text = self.utilization.note()
            if text is not None:
                self.note(text)
            self._end_display()

    def _end_display(self) -> None:
        if self.listener is None:
            return
        for _ in range(2):
            # R may have noted the Ctrl-C as well, and raises it in the next of its functions.
            with contextlib.suppress(KeyboardInterrupt):
                self.listener({"event": "end"})
                return

    def _stopped_texts(self) -> list[str]:
        step = 0 if self.model_dir is None else newest_step(self.model_dir)
        if step == 0:
            return []
        return [
            f"Stopped at step {step}, and its checkpoint is written. train() continues from there."
            if self.steps and self.steps[-1] == step
            else f"Stopped. The newest checkpoint is of step {step}, and train() continues from there."
        ]

    def _save_losses(self) -> None:
        self._saved_at = time.monotonic()
        if self.model_dir is not None:
            columns = (self.steps, self.losses, self.seconds, self.speeds)
            new = zip(*(column[self._saved :] for column in columns), strict=True)
            rows = [dict(zip(history_file.COLUMNS, row, strict=True)) for row in new]
            if not history_file.append(self.model_dir, history_file.LOSSES, rows):
                return
        self._saved = len(self.steps)

    def note_evaluation(self, metrics: Mapping[str, Any]) -> None:
        self.evaluations.append(metric_values(metrics))
        if self.model_dir is not None:
            self._save_losses()
            history_file.append(self.model_dir, history_file.EVALUATIONS, self.evaluations[-1:])
        self.log_evaluation(self.evaluations[-1])
        if self.listener is not None:
            self.listener({"event": "evaluation", **self.evaluations[-1]})

    def note_losses(self, losses: Sequence[float], kept: int) -> None:
        """Note the losses of an evaluation after each step from the first, of which ``kept`` is the last to stay."""
        rows = [{"loss": loss, "global_step": float(step)} for step, loss in enumerate(losses, 1)]
        self.evaluations += rows
        if self.model_dir is not None:
            history_file.append(self.model_dir, history_file.EVALUATIONS, rows)
        for row in rows:
            self.log_evaluation(row)

    def log_evaluation(self, metrics: Mapping[str, float]) -> None:
        if self.log is not None:
            # As in the R package tfruns.
            values = {f"val_{name}": metrics[name] for name in metrics if name != "global_step"}
            self.log(int(metrics.get("global_step", 0)), values)

    @property
    def examples_per_second(self) -> float:
        if self._started is None:
            return float("nan")
        return self._speed(
            self._started, self._started[0] + (self.seconds or [0.0])[-1], (self.steps or [0])[-1]
        )

    def as_columns(self) -> dict[str, Any]:
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
            "compiled": self.compiled,
            **self.utilization.values,
        }


def metric_values(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of metrics by name; the values of the metric "at" are "at_1", "at_2" and so on.

    Raises ModelError if two metrics would have one name.
    """
    values: dict[str, float] = {}
    for metric, value in metrics.items():
        numbers = np.asarray(value, dtype=np.float64)
        numbers = numbers.reshape(()) if numbers.size == 1 else numbers
        for index, number in np.ndenumerate(numbers):
            name = "_".join([str(metric), *(str(each + 1) for each in index)])
            if name in values:
                raise ModelError(
                    f'Two values of the metrics are called "{name}": several values of a metric are numbered.',
                    "Give one of the metrics another name in `eval_metric_ops`.",
                    argument="eval_metric_ops",
                    value=name,
                )
            values[name] = float(number)
    return values


def read_history(model_dir: str) -> dict[str, Any]:
    """Read the history of all trainings of a model directory: ``History.as_columns()`` and ``global_step``.

    Raises ModelDirectoryError if there is no history, and BackendError if remote storage does not answer.
    """
    if is_remote(model_dir):
        try:
            return within(READ_S, lambda: _read_history(model_dir))
        except OSError as error:
            raise BackendError(
                f'`model_dir` "{model_dir}" cannot be read: {error.strerror}.',
                "Check the connection to its storage, and the credentials and the endpoint in environment variables.",
                value=model_dir,
            ) from error
    return _read_history(model_dir)


def _read_history(model_dir: str) -> dict[str, Any]:
    losses = history_file.read_losses(model_dir)
    evaluations = history_file.read_evaluations(model_dir)
    if not losses.rows and not evaluations:
        if is_remote(model_dir):
            # Files that cannot be opened count as empty.
            storage.of(model_dir).names(model_dir)
        raise ModelDirectoryError(
            f'`model_dir` "{model_dir}" has no history: nothing was trained there.',
            "Call train() first, or give the `model_dir` of a trained model.",
            value=model_dir,
        )
    columns = losses.columns()
    return {
        "training": {name: [_number(value) for value in columns[name]] for name in columns},
        "evaluation": [{name: _number(row[name]) for name in row} for row in evaluations],
        "examples_per_second": _number(losses.mean_speed()),
        "stopped_by": None,
        "notes": [],
        "global_step": newest_step(model_dir),
    }


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
