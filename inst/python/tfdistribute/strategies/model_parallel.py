"""Model-parallel strategy: one copy of a model in parts, each on a device of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Rows, Strategy
from tfdistribute.strategies.device_names import check_devices, choose_devices, short_names


@dataclass(frozen=True)
class ModelParallel(Strategy, kind="model_parallel"):
    """Training of one model on several devices of one machine.

    The model function says which part is on which logical device: see ``engine.model_parts``. What it does not place is
    on the first.

    Args:
        devices: None for all GPUs (or one CPU), a count, or names. On a machine without GPUs, a count means
            logical CPUs.

    Raises:
        StrategyError: devices cannot be used.

    Source:
        https://arxiv.org/abs/1811.06965, "GPipe".
    """

    devices: int | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", check_devices(self.devices))

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        return choose_devices(self.devices, cpus, gpus)

    def rows(self, devices: tuple[str, ...]) -> Rows:
        return (devices,)

    def described_rows(self) -> Rows | None:
        return None if self.devices is None else self.rows(short_names(self.devices))

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make a ``tf.distribute.OneDeviceStrategy`` for everything that the model does not place."""
        return engine.tf.distribute.OneDeviceStrategy(devices[0])
