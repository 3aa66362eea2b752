"""Hooks for the first and the last step of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.training.hooks.description import Hook, HookContext

# Longer than TensorFlow needs to start on a slow machine.
PATIENCE_S = 600.0


@dataclass(frozen=True)
class GlobalStepWaiter(Hook, kind="global_step_waiter"):
    """Begin when other tasks have trained the model up to a step, for asynchronous training."""

    trains_only: ClassVar[bool] = True

    wait_until_step: int

    def session_hook(self, context: HookContext) -> Any:
        """Make the hook; if no other task trains, it raises instead of waiting."""
        return engine.hooks.WaitForStep(
            self.wait_until_step, 0.0 if context.is_alone else PATIENCE_S
        )


@dataclass(frozen=True)
class StopAtStep(Hook, kind="stop_at_step"):
    """End training at a step."""

    trains_only: ClassVar[bool] = True
    may_end: ClassVar[bool] = True

    num_steps: int | None = None  # From where this training starts.
    last_step: int | None = None

    def session_hook(self, context: HookContext) -> Any:
        return engine.hooks.StopAtStep(
            self.num_steps, self.last_step, lambda: context.note_stop(self.name)
        )
