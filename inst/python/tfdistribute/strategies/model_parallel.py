"""Model-parallel strategy: one copy of a model in parts, each on a device of its own."""

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import DeviceStrategy, ReplicaDevices


@dataclass(frozen=True)
class ModelParallel(DeviceStrategy, kind="model_parallel"):
    def replica_devices(self, devices: tuple[str, ...]) -> ReplicaDevices:
        return (devices,)

    def build(self, devices: tuple[str, ...]) -> Any:
        return engine.tf.distribute.OneDeviceStrategy(devices[0])
