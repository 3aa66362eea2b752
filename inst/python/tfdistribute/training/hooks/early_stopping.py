"""End training when a metric does not improve any more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.training.history import History
from tfdistribute.training.hooks.description import Hook, Run


@dataclass(frozen=True)
class EarlyStopping(Hook, kind="early_stopping"):
    """End training when a metric has not improved for a number of steps.

    TensorFlow's own hooks fetch a value per replica, which fails under MirroredStrategy, refuse seconds under every
    strategy, and add a variable to the checkpoint. This one looks at what the training knows anyway.

    Args:
        monitor: Name of the metric.
        data: "training" for the mean of the loss since the last look, or "evaluation" for a metric of the evaluations
            of train_and_evaluate.
        mode: "min" where less is better, "max" where more is.
        patience_steps: Steps without an improvement after which training ends.
        min_delta: What an improvement must exceed.
        min_steps: Global step before which training does not end, and values do not count.
        every_n_steps: Steps between two looks.
        every_secs: Seconds between two looks. Without both: every evaluation, and the training's loss ten times in
            patience_steps.

    Source:
        tensorflow_estimator/python/estimator/early_stopping.py, ``stop_if_no_decrease_hook``.
    """

    trains_only: ClassVar[bool] = True
    may_end: ClassVar[bool] = True

    monitor: str
    data: str
    mode: str
    patience_steps: int
    min_delta: float = 0.0
    min_steps: int = 0
    every_n_steps: int | None = None
    every_secs: float | None = None

    def check(self, run: Run) -> None:
        """See that the metric will be there, and that all tasks would end at the same step."""
        super().check(run)
        if self.data == "evaluation" and run.verb != "train_and_evaluate":
            raise ArgumentError(
                f'{self.name} monitors "{self.monitor}" of evaluations, and {run.verb}() does not evaluate.',
                'Use train_and_evaluate(), or monitor = "loss" with data = "training".',
                argument="monitor",
                value=self.monitor,
            )
        if run.is_alone or run.tf_config is None:
            return
        # Workers in sync see the same losses at the same steps, and nothing else that is the same for all.
        if (
            "ps" in run.tf_config.cluster
            or self.data == "evaluation"
            or self.every_secs is not None
        ):
            raise UnsupportedError(
                f"{self.name} would end the tasks of a cluster at different steps, and those left would wait for ever.",
                'In a cluster use monitor = "loss", data = "training" and `every_n_steps`, without parameter servers.',
                argument="hooks",
                value=self.name,
            )

    def session_hook(self, run: Run) -> Any:
        """Make the hook."""
        watch = Watch(self, run)
        return engine.hooks.StopOnDecision(watch)


class Watch:
    """Decides after each step whether training is to end.

    Args:
        hook: What is watched.
        run: The training, with its history.
        clock: Seconds, for tests.
    """

    def __init__(
        self, hook: EarlyStopping, run: Run, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._hook = hook
        self._run = run
        self._due = Interval(_interval(hook), hook.every_secs, clock)
        self._patience = Patience(hook.mode, hook.patience_steps, hook.min_delta)
        self._losses: list[float] = []
        self._evaluations = 0 if run.history is None else len(run.history.evaluations)

    def __call__(self, step: int, loss: float) -> bool:
        """Take the loss of a step.

        Args:
            step: The global step.
            loss: Its loss over all replicas.

        Returns:
            True where training is to end.

        Raises:
            ArgumentError: the evaluations have no such metric.
        """
        self.note(step, loss)
        if not self._due(step):
            return False
        for at, value in self._values(step):
            if at >= self._hook.min_steps and self._patience.is_over(at, value):
                self._run.note_stop(self._reason())
                return True
        return False

    def note(self, step: int, loss: float) -> None:
        """Take the loss of a step at which nothing is decided."""
        if self._hook.data == "training" and step >= self._hook.min_steps:
            self._losses.append(loss)

    def skippable_steps(self, step: int) -> float:
        """Say how many steps may follow a step before one at which something is decided."""
        history, looks_at_all = self._run.history, self._hook.data == "evaluation"
        if looks_at_all and self._due.is_always and history is not None:
            return 0 if len(history.evaluations) > self._evaluations else math.inf
        return self._due.skippable_steps(step)

    def _values(self, step: int) -> list[tuple[int, float]]:
        if self._hook.data == "training":
            losses, self._losses = self._losses, []
            return [(step, sum(losses) / len(losses))] if losses else []
        return self._evaluated(self._run.history)

    def _evaluated(self, history: History | None) -> list[tuple[int, float]]:
        if history is None:
            return []
        new = history.evaluations[self._evaluations :]
        self._evaluations += len(new)
        for metrics in new:
            if self._hook.monitor not in metrics:
                raise ArgumentError(
                    f'`monitor` "{self._hook.monitor}" is no metric of this model\'s evaluations.',
                    f"Use one of {', '.join(sorted(set(metrics) - {'global_step'}))}.",
                    argument="monitor",
                    value=self._hook.monitor,
                )
        return [(int(metrics["global_step"]), metrics[self._hook.monitor]) for metrics in new]

    def _reason(self) -> str:
        best = self._patience
        since = (
            "was never a number"
            if best.value is None
            else f"was best at step {best.step} ({best.value:.4g})"
        )
        return f"{self._hook.name}: {self._hook.monitor} ({self._hook.data}) {since}"


class Patience:
    """Keeps the best value and says when it is too old.

    Args:
        mode: "min" or "max".
        steps: Steps without an improvement after which it is over.
        min_delta: What an improvement must exceed.
    """

    def __init__(self, mode: str, steps: int, min_delta: float) -> None:
        self._sign = -1.0 if mode == "max" else 1.0
        self._steps = steps
        self._min_delta = min_delta
        self.value: float | None = None
        self.step: int | None = None

    def is_over(self, step: int, value: float) -> bool:
        """Take a value.

        Args:
            step: The step it belongs to.
            value: The metric. NaN is never an improvement.

        Returns:
            True where the best value is ``steps`` steps old, or older.
        """
        if self.step is None:
            self.step = step
        if not math.isnan(value) and (
            self.value is None or self._sign * (self.value - value) > self._min_delta
        ):
            self.value, self.step = value, step
            return False
        return step - self.step >= self._steps


class Interval:
    """Says when it is time to look, by steps or by seconds.

    Args:
        steps: Steps between two looks, or None.
        seconds: Seconds between two looks, or None.
        clock: Seconds.
    """

    def __init__(
        self, steps: int | None, seconds: float | None, clock: Callable[[], float]
    ) -> None:
        self._steps = steps
        self._seconds = seconds
        self._clock = clock
        self._step: int | None = None
        self._time = clock()

    @property
    def is_always(self) -> bool:
        """Whether it is always time."""
        return self._steps is None and self._seconds is None

    def skippable_steps(self, step: int) -> float:
        """Say how many steps may follow a step before the one at which it is time."""
        if self._steps is None:
            return math.inf
        return 0 if self._step is None else max(0, self._step + self._steps - step - 1)

    def __call__(self, step: int) -> bool:
        """Say whether it is time, and count from here if so."""
        if self._step is None:
            self._step = step - 1
        if self._steps is not None and step - self._step < self._steps:
            return False
        if self._seconds is not None and self._clock() - self._time < self._seconds:
            return False
        self._step, self._time = step, self._clock()
        return True


def _interval(hook: EarlyStopping) -> int | None:
    if hook.every_n_steps is not None or hook.every_secs is not None or hook.data == "evaluation":
        return hook.every_n_steps
    return max(1, hook.patience_steps // 10)
