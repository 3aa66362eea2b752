"""One-device strategy: all variables and computation on one device."""

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import ReplicaDevices, Strategy
from tfdistribute.strategies.device_names import (
    Device,
    canonical_device,
    require_devices,
    short_device,
)


@dataclass(frozen=True)
class OneDevice(Strategy, kind="one_device"):
    """Train on one device.

    Args:
        device: Name of the device, a string such as `"GPU:0"`, `"/gpu:1"` or `"cpu:0"`.
    """

    device: Device

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "device", canonical_device(self.device))

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        require_devices((self.device,), cpus, gpus, "`device`")
        return (self.device,)

    def described_replicas(self) -> ReplicaDevices:
        return ((short_device(self.device),),)

    def build(self, devices: tuple[str, ...]) -> Any:
        return engine.tf.distribute.OneDeviceStrategy(devices[0])
