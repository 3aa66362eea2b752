"""What every distribution strategy is described by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions import Description


@dataclass(frozen=True)
class Strategy(Description):
    """Root of the family: where training runs, and how its gradients meet.

    Each member is one file, and passes the contract test on every sibling.
    """

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Name the devices of this process that the strategy takes, in replica order.

        Args:
            cpus: Logical CPU devices that can be had.
            gpus: GPUs of this machine.

        Returns:
            Canonical names such as ``("/device:CPU:0", "/device:CPU:1")``, one per replica.

        Raises:
            StrategyError: more devices than there are, or devices that the strategy cannot use.
            UnsupportedError: the strategy needs a cluster or hardware that this version cannot use.
        """
        raise NotImplementedError

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make the strategy that TensorFlow trains with.

        Args:
            devices: What ``resolve`` named.

        Returns:
            A ``tf.distribute.Strategy``.

        Raises:
            UnsupportedError: as ``resolve``.
        """
        raise NotImplementedError

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        """Make the hooks without which a session under this strategy fails.

        Args:
            devices: What ``resolve`` named.

        Returns:
            New ``tf.estimator.SessionRunHook`` objects, for one call of train or evaluate.
        """
        del devices
        return []
