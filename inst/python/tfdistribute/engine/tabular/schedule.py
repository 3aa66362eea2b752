"""Schedule of a tabular training: the rate, the weight decay and the dropout of a step.

A linear model learns at first. Then the layers learn in its place, in four cycles of the rate, each twice as long as
the one before. The rate is 0 at the end of each cycle, so that the model can be judged there.
"""

import math
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.optimizers import legacy, with_own_settings

# Share of the steps in which the linear model learns, and the fewest that suffice.
_LINEAR_SHARE, _LINEAR_STEPS = 1 / 16, 200
_CYCLES = 4
_PARTS = 2**_CYCLES - 1
BETA_2 = 0.95


def ends_of_cycles(steps: int) -> list[int]:
    """Return the steps at which the rate is 0: after the linear model, and after each cycle of the layers."""
    first = _linear_steps(steps)
    ends = [first + (steps - first) * (2**n - 1) / _PARTS for n in range(_CYCLES + 1)]
    return sorted({max(1, round(end)) for end in ends})


def with_linear_steps(steps: int) -> int:
    """Return the steps of a training whose cycles of the layers take ``steps``."""
    return steps + max(_LINEAR_STEPS, round(steps * _LINEAR_SHARE / (1 - _LINEAR_SHARE)))


def _linear_steps(steps: int) -> int:
    return max(1, min(_LINEAR_STEPS, steps // 2), round(steps * _LINEAR_SHARE))


@dataclass(frozen=True)
class Progress:
    """How far a training of ``steps`` is in the step that begins at the global ``step``."""

    steps: int
    step: Any

    @property
    def of_layers(self) -> Any:
        """Return the share of the steps after the linear model's, from 0 to 1."""
        first = _linear_steps(self.steps)
        share = (tf.cast(self.step, tf.float32) - first) / max(1, self.steps - first)
        return tf.clip_by_value(share, 0.0, 1.0)

    @property
    def is_linear(self) -> Any:
        return self.step < _linear_steps(self.steps)

    @property
    def rate(self) -> Any:
        in_cycle = tf.math.log(1 + _PARTS * self.of_layers) / math.log(2)
        alone = tf.cast(self.step, tf.float32) / _linear_steps(self.steps)
        place = tf.where(self.is_linear, alone, in_cycle)
        return 0.5 * (1 - tf.cos(2 * math.pi * place))

    @property
    def regularization(self) -> Any:
        """Return the factor of dropout and weight decay, which falls to 0 in the second half."""
        late = tf.maximum(2 * self.of_layers - 1, 0.0)
        return 0.5 * (1 + tf.cos(math.pi * late))


class Cycles(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, learning_rate: float, steps: int) -> None:
        self._learning_rate, self._steps = learning_rate, steps

    def __call__(self, step: Any) -> Any:
        return self._learning_rate * Progress(self._steps, tf.cast(step, tf.int64)).rate

    def get_config(self) -> dict[str, Any]:
        return {"learning_rate": self._learning_rate, "steps": self._steps}


class TabularAdam(legacy.Adam):
    """Adam with a factor of the rate for some variables, and decoupled weight decay of the others.

    ``factors`` holds the factors by the first word of a variable's last name, as in "bias_1".
    """

    def __init__(self, rate: Cycles, decay: float, steps: int, factors: dict[str, float]) -> None:
        super().__init__(learning_rate=rate, beta_2=BETA_2, epsilon=1e-8, name="Adam")
        self._decay_rate, self._steps, self._factors = decay, steps, factors
        with_own_settings(self)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        factor, state = self._factor(var), self._scaled(var, apply_state)
        adam: Any = super()._resource_apply_dense(grad, var, state)
        if factor is not None or self._decay_rate == 0:
            return adam
        rate = state[var.device, var.dtype.base_dtype]["lr_t"]
        decay = self._decay_rate * Progress(self._steps, self.iterations).regularization
        with tf.control_dependencies([adam]):
            return var.assign_sub(rate * decay * var.read_value(), read_value=False)

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        return super()._resource_apply_sparse(grad, var, indices, self._scaled(var, apply_state))

    def _factor(self, var: Any) -> float | None:
        # A replica's copy is named "tabular/bias_1/replica_1:0".
        kind = var.name.split("/replica_")[0].split("/")[-1].split(":")[0].split("_")[0]
        is_linear = "linear" in self._factors and "linear" in var.name
        return self._factors["linear"] if is_linear else self._factors.get(kind)

    def _scaled(self, var: Any, apply_state: Any) -> dict[Any, Any]:
        key = (var.device, var.dtype.base_dtype)
        state = dict((apply_state or {}).get(key) or self._fallback_apply_state(*key))
        factor = self._factor(var)
        if factor is not None:
            state.update({name: state[name] * factor for name in ("lr", "lr_t")})
        return {key: state}
