"""All variables and all computation on one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Strategy
from tfdistribute.strategies.device_names import canonical, require


@dataclass(frozen=True)
class OneDevice(Strategy, kind="one_device"):
    """Train on one device, through the same code path as with many.

    Args:
        device: Its name, such as "CPU:0" or "GPU:1".

    Raises:
        StrategyError: the name is none of a CPU or GPU.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/distribute/OneDeviceStrategy
    """

    device: str

    def __post_init__(self) -> None:
        """Write the name as TensorFlow does."""
        object.__setattr__(self, "device", canonical(self.device, "device"))

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Name the one device."""
        require((self.device,), cpus, gpus, "`device`")
        return (self.device,)

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make a ``tf.distribute.OneDeviceStrategy``."""
        return engine.tf.distribute.OneDeviceStrategy(devices[0])
