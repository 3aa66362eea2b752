"""Hooks for the first and the last step of a training, and early stopping when a metric no longer improves."""

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tfdistribute import engine
from tfdistribute.descriptions.constraints import (
    Count,
    Ge,
    Never,
    Not,
    Pattern,
    Seconds,
    Text,
    exactly_one,
    excludes,
)
from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History
from tfdistribute.training.hooks.description import Hook, HookContext

# Evaluations that are further apart may be too few for a training of some minutes.
_RARE_S = 60.0
# Longer than TensorFlow needs to start on a slow machine.
PATIENCE_S = 600.0

_MORE_IS_BETTER = {"accuracy", "auc", "precision", "recall"}
_KERAS_NAME = Pattern(
    "(?!val_)([^\n]|[\n])*",
    "`{argument}` {value} is a Keras name; metrics of evaluations have no prefix here.",
    'Leave "val_" out, and use data = "evaluation".',
)


@dataclass(frozen=True)
class GlobalStepWaiter(Hook, kind="global_step_waiter"):
    """Begin when other tasks have trained the model up to a step, for asynchronous training.

    Args:
        wait_until_step: Global step at which this task starts, a count.
    """

    trains_only: ClassVar[bool] = True

    wait_until_step: Annotated[int, Ge(0)]

    def session_hook(self, context: HookContext) -> Any:
        return engine.hooks.WaitForStep(
            self.wait_until_step, 0.0 if context.is_alone else PATIENCE_S
        )


@dataclass(frozen=True)
class StopAtStep(Hook, kind="stop_at_step"):
    """Stop training at a step.

    Args:
        num_steps: Steps from the start of this training, a count.
        last_step: Global step, a count. Exactly one of `num_steps` and `last_step` is required.
    """

    trains_only: ClassVar[bool] = True
    may_end: ClassVar[bool] = True
    rules: ClassVar[tuple[Never, ...]] = exactly_one("num_steps", "last_step")

    num_steps: Count | None = None  # From where this training starts.
    last_step: Count | None = None

    def session_hook(self, context: HookContext) -> Any:
        return engine.hooks.StopAtStep(
            self.num_steps, self.last_step, lambda: context.note_stop(self.name)
        )


@dataclass(frozen=True)
class EarlyStopping(Hook, kind="early_stopping"):
    """End training when a metric has not improved for a number of steps.

    TensorFlow's own hooks fetch a value per replica, which fails under MirroredStrategy. They reject seconds under
    every strategy, and add a variable to the checkpoint. This hook uses values that the training computes anyway.

    Args:
        monitor: Name of the metric, a string: `"loss"`, or a metric of evaluations such as `"accuracy"` or
            `"average_loss"`.
        patience_steps: Steps without an improvement after which training ends, a count.
        min_delta: Smallest difference from the best value that counts as an improvement, a number of at least 0.
        mode: `"min"` if lower is better, or `"max"` if higher is better. `"auto"` means `"max"` for names with the word
            accuracy, auc, precision or recall, as in `"binary_accuracy"`, and otherwise `"min"`.
        data: `"training"` for the mean loss of the training batches since the last check, or `"evaluation"` for metrics
            of evaluations. `"auto"` means `"training"` for `"loss"`, and otherwise `"evaluation"`.
        min_steps: Global step before which nothing is checked, a count.
        every_n_steps, every_s: Steps (a count) or seconds between checks, not both. NULL checks each evaluation, and
            the training loss ten times in `patience_steps`.
        restore_best_weights: TRUE gives the model the weights and the global step of the best check if this hook ends
            the training. The best check has the lowest mean loss up to its step, or the best evaluation of its
            checkpoint. Each improvement writes a checkpoint. Not supported in a cluster.
    """

    trains_only: ClassVar[bool] = True
    may_end: ClassVar[bool] = True
    rules: ClassVar[tuple[Never, ...]] = (
        Never(
            {"monitor": Annotated[str, Not("loss")], "data": Literal["training"]},
            '`monitor` must be "loss" with `data` = {data}, not {monitor}.',
            'Use data = "evaluation" for a metric of evaluations.',
        ),
        excludes("every_n_steps", "every_s"),
    )

    monitor: Annotated[Text, _KERAS_NAME] = "loss"
    patience_steps: Count = 1000
    min_delta: Annotated[float, Ge(0)] = 0.0
    # "auto": "max" for metrics such as accuracy.
    mode: Literal["auto", "min", "max"] = "auto"
    # "training": mean loss since the last check; "evaluation": a metric of train_and_evaluate; "auto" by the metric.
    data: Literal["auto", "training", "evaluation"] = "auto"
    # Before this global step, training does not end and values do not count.
    min_steps: Annotated[int, Ge(0)] = 0
    every_n_steps: Count | None = None
    # Without both: every evaluation, or the loss ten times in patience_steps.
    every_s: Seconds | None = None
    restore_best_weights: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        # Whole words, because "caucasian_error" contains "auc".
        more_is_better = not _MORE_IS_BETTER.isdisjoint(re.findall("[a-z]+", self.monitor.lower()))
        chosen = {
            "mode": "max" if more_is_better else "min",
            "data": "training" if self.monitor == "loss" else "evaluation",
        }
        for name, value in chosen.items():
            if getattr(self, name) == "auto":
                object.__setattr__(self, name, value)

    def check(self, context: HookContext) -> None:
        super().check(context)
        if self.data == "evaluation" and context.verb != "train_and_evaluate":
            raise ArgumentError(
                f'{self.name} monitors "{self.monitor}" of evaluations, but {context.verb}() does not evaluate.',
                'Use train_and_evaluate(), or monitor = "loss" with data = "training".',
                argument="monitor",
                value=self.monitor,
            )
        if context.is_alone or context.tf_config is None:
            return
        if self.restore_best_weights:
            raise UnsupportedError(
                f"`restore_best_weights` of {self.name} is not supported in a cluster, whose tasks would have to "
                "restore the weights together.",
                "Leave it out, or train in one process.",
                value="TRUE",
            )
        # Only the losses are the same in all workers at the same steps.
        if (
            "ps" in context.tf_config.cluster
            or self.data == "evaluation"
            or self.every_s is not None
        ):
            raise UnsupportedError(
                f"{self.name} would end the tasks of a cluster at different steps, and the others would wait for ever.",
                'In a cluster use monitor = "loss", data = "training" and `every_n_steps`, without parameter servers.',
                argument="hooks",
                value=self.name,
            )

    def session_hook(self, context: HookContext) -> Any:
        watch = Watch(self, context)
        best = None
        if self.restore_best_weights and context.model_dir is not None:
            best = engine.hooks.BestWeights(context.model_dir, self.data == "evaluation")
        return engine.hooks.StopOnDecision(watch, best)


def notes_on_evaluations(
    hooks: Sequence[Any],
    throttle_s: float,
    settings: RunSettings,
    history: History,
    first_step: int,
) -> list[str]:
    """Return a sentence for each hook that the evaluations of this training may come too rarely for."""
    return [
        f"{hook.name} monitors evaluations, which come {rare} Its patience is {hook.patience_steps} steps."
        for hook in hooks
        if isinstance(hook, EarlyStopping) and hook.data == "evaluation"
        for rare in _rare_evaluations(hook, throttle_s, settings, history, first_step)
    ]


def _rare_evaluations(
    hook: EarlyStopping,
    throttle_s: float,
    settings: RunSettings,
    history: History,
    first_step: int,
) -> Iterator[str]:
    steps, seconds = settings.save_checkpoints_steps, settings.save_checkpoints_secs or 0
    most = math.inf if history.last_step is None else history.last_step - first_step
    if steps is not None and steps >= min(hook.patience_steps + 1, most):
        yield f"every {steps} steps, with the checkpoints: `save_checkpoints_steps` in run_config() changes it."
    elif seconds >= max(throttle_s, _RARE_S):
        yield (
            f"at most every {seconds:g} seconds, with the checkpoints: give `save_checkpoints_steps` to "
            "run_config() and `throttle_secs = 0` to eval_spec() for more."
        )
    elif throttle_s >= _RARE_S:
        yield f"at most every {throttle_s:g} seconds: give `throttle_secs = 0` to eval_spec() for more."


class Watch:
    def __init__(
        self, hook: EarlyStopping, context: HookContext, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._hook = hook
        self._context = context
        self._due = Interval(_interval(hook), hook.every_s, clock)
        self._patience = Patience(hook.mode, hook.patience_steps, hook.min_delta)
        self._losses: list[float] = []
        self._evaluations = 0 if context.history is None else len(context.history.evaluations)
        # The step of an improvement that the last call has found.
        self.improved_at: int | None = None

    def __call__(self, step: int, loss: float) -> bool:
        """Note the loss of a step and return whether training ends; raise ArgumentError if the metric is missing."""
        self.note(step, loss)
        self.improved_at = None
        if not self._due(step):
            return False
        for at, value in self._values(step):
            if at < self._hook.min_steps:
                continue
            if self._patience.is_over(at, value):
                self._context.note_stop(self._reason())
                return True
            if self._patience.step == at and self._patience.value is not None:
                self.improved_at = at
        return False

    def note(self, step: int, loss: float) -> None:
        if self._hook.data == "training" and step >= self._hook.min_steps:
            self._losses.append(loss)

    def skippable_steps(self, step: int) -> float:
        history, checks_all = self._context.history, self._hook.data == "evaluation"
        if checks_all and self._due.is_always and history is not None:
            return 0 if len(history.evaluations) > self._evaluations else math.inf
        return self._due.skippable_steps(step)

    def _values(self, step: int) -> list[tuple[int, float]]:
        if self._hook.data == "training":
            losses, self._losses = self._losses, []
            return [(step, sum(losses) / len(losses))] if losses else []
        return self._new_values(self._context.history)

    def _new_values(self, history: History | None) -> list[tuple[int, float]]:
        if history is None:
            return []
        new = history.evaluations[self._evaluations :]
        self._evaluations += len(new)
        for metrics in new:
            if self._hook.monitor not in metrics:
                raise ArgumentError(
                    f'`monitor` "{self._hook.monitor}" is not a metric of this model\'s evaluations.',
                    f"Use one of {', '.join(sorted(set(metrics) - {'global_step'}))}.",
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
        restored = self._hook.restore_best_weights and best.value is not None
        return (
            f"{self._hook.name}: {self._hook.monitor} ({self._hook.data}) {since}"
            f"{', and its weights are restored' if restored else ''}"
        )


class Patience:
    def __init__(self, mode: str, steps: int, min_delta: float) -> None:
        self._sign = -1.0 if mode == "max" else 1.0
        self._steps = steps
        self._min_delta = min_delta
        self.value: float | None = None
        self.step: int | None = None

    def is_over(self, step: int, value: float) -> bool:
        """Note a value; return whether the best one is at least ``steps`` steps old. NaN is never an improvement."""
        if self.step is None:
            self.step = step
        if not math.isnan(value) and (
            self.value is None or self._sign * (self.value - value) > self._min_delta
        ):
            self.value, self.step = value, step
            return False
        return step - self.step >= self._steps


class Interval:
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
        return self._steps is None and self._seconds is None

    def skippable_steps(self, step: int) -> float:
        if self._steps is None:
            return math.inf
        return 0 if self._step is None else max(0, self._step + self._steps - step - 1)

    def __call__(self, step: int) -> bool:
        if self._step is None:
            self._step = step - 1
        if self._steps is not None and step - self._step < self._steps:
            return False
        if self._seconds is not None and self._clock() - self._time < self._seconds:
            return False
        self._step, self._time = step, self._clock()
        return True


def _interval(hook: EarlyStopping) -> int | None:
    if hook.every_n_steps is not None or hook.every_s is not None or hook.data == "evaluation":
        return hook.every_n_steps
    return max(1, hook.patience_steps // 10)
