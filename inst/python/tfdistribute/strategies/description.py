"""Base class of strategy descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions import Description


@dataclass(frozen=True)
class Strategy(Description):
    """Devices or tasks that train, and the way gradients are combined."""

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Return this process's devices for the strategy, in replica order.

        Args:
            cpus: Logical CPU devices that TensorFlow can create.
            gpus: GPUs of this machine.

        Returns:
            Canonical names such as ``("/device:CPU:0", "/device:CPU:1")``, one per replica.

        Raises:
            StrategyError: the machine lacks the devices, or the strategy cannot use them.
            UnsupportedError: the strategy needs a cluster or hardware that this version does not support.
        """
        raise NotImplementedError

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make TensorFlow's strategy.

        Args:
            devices: Result of ``resolve``.

        Returns:
            A ``tf.distribute.Strategy``.

        Raises:
            UnsupportedError: as ``resolve``.
        """
        raise NotImplementedError

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        """Return the hooks that a session under this strategy needs.

        Args:
            devices: Result of ``resolve``.

        Returns:
            New ``tf.estimator.SessionRunHook`` objects, for one call of train or evaluate.
        """
        del devices
        return []
