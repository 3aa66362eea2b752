"""Hooks that show tensors or check them for NaN."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Count, Fact, Never, Seconds, excludes
from tfdistribute.training.hooks.description import RECORDS, Hook, HookContext


@dataclass(frozen=True)
class LoggingTensor(Hook, kind="logging_tensor"):
    """Show the values of tensors while a model trains.

    Args:
        tensors: Names of tensors or Python tensors: a character vector or a list, optionally with names to show. See
            "Tensors by name" in [hooks].
        every_n_steps: Steps between messages, a count. The first step is always shown.
        every_s: Seconds between messages, a number. Not together with `every_n_steps`. Unless `at_end` is TRUE, one of
            the two is required.
        at_end: TRUE also shows the last step. Without an interval, only the last step is shown.
    """

    may_differ: ClassVar[str | None] = RECORDS
    rules: ClassVar[tuple[Never, ...]] = (
        Never(
            {"every_n_steps": None, "every_s": None, "at_end": Literal[False]},
            "Neither `every_n_steps` nor `every_s` was given.",
            "Give one of them.",
        ),
        excludes("every_n_steps", "every_s"),
    )

    tensors: dict[str, Any]
    # Called with (global step, values by name): R would not show what Python prints.
    show: Annotated[Callable[..., Any], Fact.INTERNAL]
    every_n_steps: Count | None = None
    every_s: Seconds | None = None
    at_end: bool = False

    def session_hook(self, context: HookContext) -> Any:
        return engine.hooks.ShowTensors(
            self.tensors,
            self.show,
            every_n_iter=self.every_n_steps,
            every_n_secs=self.every_s,
            at_end=self.at_end,
        )


@dataclass(frozen=True)
class NanTensor(Hook, kind="nan_tensor"):
    """Stop training when a value is not a number.

    Args:
        loss_tensor: A string that names a tensor, or a Python tensor. `"loss"` is the training loss. See "Tensors by
            name" in [hooks].
        fail_on_nan_loss: TRUE to end with an error, FALSE to end without an error.
    """

    trains_only: ClassVar[bool] = True

    loss_tensor: Any = "loss"
    fail_on_nan_loss: bool = True

    def session_hook(self, context: HookContext) -> Any:
        return engine.hooks.StopOnNan(
            self.loss_tensor,
            self.fail_on_nan_loss,
            lambda: context.note_stop(f"{self.name}: a value became NaN"),
        )


@contextlib.contextmanager
def suppress_nan_error(hooks: Sequence[Any]) -> Iterator[None]:
    """End a training without an error if its loss became NaN and a hook has ``fail_on_nan_loss = False``.

    Estimator's own hook always raises when the loss is NaN. Its error ends the session, so no checkpoint of NaN weights
    is written.
    """
    if not any(isinstance(hook, NanTensor) and not hook.fail_on_nan_loss for hook in hooks):
        yield
        return
    with contextlib.suppress(engine.tf.estimator.NanLossDuringTrainingError):
        yield
