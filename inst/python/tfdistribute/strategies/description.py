"""Base classes of strategy descriptions."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Expected, Fact, Ge, Le, Len
from tfdistribute.strategies.device_names import (
    Device,
    canonical_devices,
    choose_devices,
    short_names,
)

# For each replica, its devices.
ReplicaDevices = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Strategy(Description):
    in_words: ClassVar[str] = "a strategy"
    how_made: ClassVar[str | None] = (
        "Make one with strategy_mirrored() or another strategy_*() function."
    )

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Return the canonical names of this process's devices, one replica after the other.

        ``cpus`` are the logical devices that TensorFlow can create. StrategyError if the machine lacks the devices,
        or the strategy cannot use them; UnsupportedError if it needs other hardware.
        """
        raise NotImplementedError

    def replica_devices(self, devices: tuple[str, ...]) -> ReplicaDevices:
        """Divide the result of ``resolve`` among the replicas; the first device stands for its replica."""
        return tuple((device,) for device in devices)

    def described_replicas(self) -> ReplicaDevices | None:
        """Return short names of CPUs for the devices of each replica; None if their number depends on the machine."""
        return self.replica_devices(("CPU:0",))

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make the ``tf.distribute.Strategy`` for the first device of each replica; UnsupportedError as ``resolve``."""
        raise NotImplementedError

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        """Make the session hooks of one verb under this strategy, for the first device of each replica."""
        return []


@dataclass(frozen=True)
class DeviceStrategy(Strategy):
    """Fields that several kinds share.

    Args:
        devices: NULL for all GPUs, or the CPU if there are none. Alternatively, a count, or a character vector or list
            of names such as `"GPU:0"`. On a machine without GPUs, `devices = 2` means two logical CPU devices.
    """

    devices: Annotated[
        Annotated[int, Ge(1), Le(1000)] | Annotated[tuple[Device, ...], Len(1)] | None,
        Expected('a count from 1 to 1000, names such as "GPU:0", or NULL', error="strategy"),
        Fact.NAME,
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.devices, tuple):
            object.__setattr__(self, "devices", canonical_devices(self.devices))

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        return choose_devices(self.devices, cpus, gpus)

    def described_replicas(self) -> ReplicaDevices | None:
        return None if self.devices is None else self.replica_devices(short_names(self.devices))
