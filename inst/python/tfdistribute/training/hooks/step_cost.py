"""Hook that measures the cost of a step, for the plan of a training."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine, storage
from tfdistribute.plan.speed import STEP_COST
from tfdistribute.training.hooks.description import Hook, HookContext


@dataclass(frozen=True)
class StepCost(Hook, kind="step_cost"):
    """Write ``STEP_COST`` into model_dir, as the chief; ``seconds`` end a training of one worker."""

    trains_only: ClassVar[bool] = True
    may_end: ClassVar[bool] = True

    seconds: float | None = None

    def session_hook(self, context: HookContext) -> Any:
        path = os.path.join(str(context.model_dir), STEP_COST)
        is_chief = (
            context.is_alone or str(context.tf_config and context.tf_config.task) == "chief 0"
        )

        def report(**cost: float) -> None:
            if is_chief:
                storage.write_object(path, cost)

        return engine.hooks.MeasureSteps(self.seconds, report)
