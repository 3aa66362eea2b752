"""Hooks that look at tensors: show them, or see that they are numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.training.hooks.description import Hook, Run


@dataclass(frozen=True)
class LoggingTensor(Hook, kind="logging_tensor"):
    """Show values of tensors.

    Args:
        tensors: Tensors or names ("loss" and "global_step" among them) by the user's names.
        show: Called with (global step, values by name). Python's own output would not be seen in R.
        every_n_iter: Steps between two calls.
        every_n_secs: Seconds between two calls; at most one of both.
        at_end: Whether the last step is shown too.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/LoggingTensorHook
    """

    tensors: dict[str, Any]
    show: Callable[..., Any]
    every_n_iter: int | None = None
    every_n_secs: float | None = None
    at_end: bool = False

    def session_hook(self, run: Run) -> Any:
        """Make the hook."""
        return engine.hooks.ShowTensors(
            self.tensors,
            self.show,
            every_n_iter=self.every_n_iter,
            every_n_secs=self.every_n_secs,
            at_end=self.at_end,
        )


@dataclass(frozen=True)
class NanTensor(Hook, kind="nan_tensor"):
    """End training when a tensor is not a number.

    Args:
        loss_tensor: A tensor or a name; "loss" is the training's loss.
        fail_on_nan_loss: True for an error, False for an end without one.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/NanTensorHook
    """

    trains_only: ClassVar[bool] = True

    loss_tensor: Any = "loss"
    fail_on_nan_loss: bool = True

    def session_hook(self, run: Run) -> Any:
        """Make the hook."""
        return engine.hooks.StopOnNan(
            self.loss_tensor,
            self.fail_on_nan_loss,
            lambda: run.note_stop(f"{self.name}: a value became NaN"),
        )


@contextlib.contextmanager
def nan_may_end(hooks: Sequence[Any]) -> Iterator[None]:
    """Let a training end without an error where its loss became NaN and a hook wants no error.

    Estimator has a hook of its own that always raises when its loss is NaN, so ``fail_on_nan_loss = False`` would
    change nothing. As the session ends by that error, no checkpoint of NaN weights is written.

    Args:
        hooks: The hooks of the training.
    """
    if not any(isinstance(hook, NanTensor) and not hook.fail_on_nan_loss for hook in hooks):
        yield
        return
    with contextlib.suppress(engine.tf.estimator.NanLossDuringTrainingError):
        yield
