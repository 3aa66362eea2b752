"""One-device strategy: all variables and all computation on one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Strategy
from tfdistribute.strategies.device_names import canonical_device, require_devices


@dataclass(frozen=True)
class OneDevice(Strategy, kind="one_device"):
    """Training on one device, by the same code path as on many.

    Args:
        device: Its name, such as "CPU:0" or "GPU:1".

    Raises:
        StrategyError: the name does not name a CPU or GPU.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/distribute/OneDeviceStrategy
    """

    device: str

    def __post_init__(self) -> None:
        """Write the name as TensorFlow does."""
        object.__setattr__(self, "device", canonical_device(self.device, "device"))

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Return the device."""
        require_devices((self.device,), cpus, gpus, "`device`")
        return (self.device,)

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make a ``tf.distribute.OneDeviceStrategy``."""
        return engine.tf.distribute.OneDeviceStrategy(devices[0])
