"""Base class of strategy descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions import Description

# For each replica, its devices.
Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Strategy(Description):
    """Devices or tasks that train, and the way gradients are combined."""

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Return this process's devices for the strategy, one replica after the other.

        Args:
            cpus: Logical CPU devices that TensorFlow can create.
            gpus: GPUs of this machine.

        Returns:
            Canonical names such as ``("/device:CPU:0", "/device:CPU:1")``.

        Raises:
            StrategyError: the machine lacks the devices, or the strategy cannot use them.
            UnsupportedError: the strategy needs a cluster or hardware that this version does not support.
        """
        raise NotImplementedError

    def rows(self, devices: tuple[str, ...]) -> Rows:
        """Divide devices among the replicas of this process.

        Args:
            devices: Result of ``resolve``.

        Returns:
            For each replica its logical devices, the first of which stands for the replica.
        """
        return tuple((device,) for device in devices)

    def described_rows(self) -> Rows | None:
        """Return short names of the devices of this process's replicas; None if their number depends on the machine.

        A count of devices means GPUs, or CPUs on a machine without any; the names are those of CPUs.
        """
        return self.rows(("CPU:0",))

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make TensorFlow's strategy.

        Args:
            devices: The first device of each replica.

        Returns:
            A ``tf.distribute.Strategy``.

        Raises:
            UnsupportedError: as ``resolve``.
        """
        raise NotImplementedError

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        """Return the hooks that a session under this strategy needs.

        Args:
            devices: The first device of each replica.

        Returns:
            New ``tf.estimator.SessionRunHook`` objects, for one call of train or evaluate.
        """
        del devices
        return []
