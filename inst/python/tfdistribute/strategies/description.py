"""Root of the strategy descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions import Description


@dataclass(frozen=True)
class Strategy(Description):
    """Where training runs, and how gradients are combined."""

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Return the devices of this process that the strategy uses, in replica order.

        Args:
            cpus: Logical CPU devices that TensorFlow can create.
            gpus: GPUs of this machine.

        Returns:
            Canonical names such as ``("/device:CPU:0", "/device:CPU:1")``, one per replica.

        Raises:
            StrategyError: the machine lacks the devices, or the strategy cannot use them.
            UnsupportedError: the strategy needs a cluster or hardware that this version cannot use.
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
        """Make the hooks that a session under this strategy needs to work.

        Args:
            devices: Result of ``resolve``.

        Returns:
            New ``tf.estimator.SessionRunHook`` objects, for one call of train or evaluate.
        """
        del devices
        return []
