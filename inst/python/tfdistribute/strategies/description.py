"""Base classes of strategy descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions import Description
from tfdistribute.strategies.device_names import check_devices, choose_devices, short_names

# For each replica, its devices.
Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Strategy(Description):
    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Return the canonical names of this process's devices, one replica after the other.

        ``cpus`` are the logical devices that TensorFlow can create. StrategyError if the machine lacks the devices,
        or the strategy cannot use them; UnsupportedError if it needs other hardware.
        """
        raise NotImplementedError

    def rows(self, devices: tuple[str, ...]) -> Rows:
        """Divide the result of ``resolve`` among the replicas; the first device stands for its replica."""
        return tuple((device,) for device in devices)

    def described_rows(self) -> Rows | None:
        """Return short names of CPUs for the devices of each replica; None if their number depends on the machine."""
        return self.rows(("CPU:0",))

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make the ``tf.distribute.Strategy`` for the first device of each replica; UnsupportedError as ``resolve``."""
        raise NotImplementedError

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        """Make the session hooks of one verb under this strategy, for the first device of each replica."""
        return []


@dataclass(frozen=True)
class DeviceStrategy(Strategy):
    devices: int | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", check_devices(self.devices))

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        return choose_devices(self.devices, cpus, gpus)

    def described_rows(self) -> Rows | None:
        return None if self.devices is None else self.rows(short_names(self.devices))
