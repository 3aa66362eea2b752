"""The learning rate in each step of a tabular training, and the optimizer that has it.

The layers learn in three cycles of the rate, each twice as long as the one before. The rate is 0 at the end of each
cycle, so that the model can be judged there.
"""

import math
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.optimizers import legacy, with_own_settings

CYCLES = 3
BETA_2 = 0.95


def ends_of_cycles(steps: int) -> list[int]:
    """Return the steps at which the rate of the layers is 0."""
    parts = 2**CYCLES - 1
    return sorted({max(1, round(steps * (2**n - 1) / parts)) for n in range(1, CYCLES + 1)})


@dataclass(frozen=True)
class Schedule:
    """The rate of a training of ``steps`` after the step ``begin``."""

    learning_rate: float
    steps: int
    begin: int = 0

    def rate(self, step: Any) -> Any:
        done = tf.cast(step - self.begin if self.begin else step, tf.float32)
        share = tf.clip_by_value(done / max(1, self.steps), 0.0, 1.0)
        in_cycle = tf.math.log(1 + (2**CYCLES - 1) * share) / math.log(2)
        return self.learning_rate * 0.5 * (1 - tf.cos(2 * math.pi * in_cycle))


class Rate(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    def __call__(self, step: Any) -> Any:
        return self._schedule.rate(step)

    def get_config(self) -> dict[str, Any]:
        return {"schedule": self._schedule}


class TabularAdam(legacy.Adam):
    """Adam with a factor of the rate for some variables, and decoupled weight decay of the others.

    ``factors`` holds the factors by the first word of a variable's last name, as in "bias_1".
    """

    def __init__(self, schedule: Schedule, decay: float, factors: dict[str, float]) -> None:
        super().__init__(learning_rate=Rate(schedule), beta_2=BETA_2, epsilon=1e-8, name="Adam")
        self._decay_rate, self._factors = decay, factors
        with_own_settings(self)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        factor, state = self._factor(var), self._scaled(var, apply_state)
        adam: Any = super()._resource_apply_dense(grad, var, state)
        if factor is not None or self._decay_rate == 0:
            return adam
        rate = state[var.device, var.dtype.base_dtype]["lr_t"]
        with tf.control_dependencies([adam]):
            return var.assign_sub(rate * self._decay_rate * var.read_value(), read_value=False)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        return super()._resource_apply_sparse(grad, var, indices, self._scaled(var, apply_state))

    def _factor(self, var: Any) -> float | None:
        # A replica's copy is named "tabular/bias_1/replica_1:0".
        kind = var.name.split("/replica_")[0].split("/")[-1].split(":")[0].split("_")[0]
        return self._factors.get(kind)

    def _scaled(self, var: Any, apply_state: Any) -> dict[Any, Any]:
        key = (var.device, var.dtype.base_dtype)
        state = dict((apply_state or {}).get(key) or self._fallback_apply_state(*key))
        factor = self._factor(var)
        if factor is not None:
            state.update({name: state[name] * factor for name in ("lr", "lr_t")})
        return {key: state}
