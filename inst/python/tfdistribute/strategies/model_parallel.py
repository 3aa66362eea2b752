"""Model-parallel strategy: one copy of a model in parts, each on a device of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Rows, Strategy
from tfdistribute.strategies.device_names import check_devices, choose_devices, short_names


@dataclass(frozen=True)
class ModelParallel(Strategy, kind="model_parallel"):
    """Training of one model on several devices of one machine (GPipe, https://arxiv.org/abs/1811.06965).

    The model function says which part is on which logical device: see ``engine.model_parts``. What it does not place is
    on the first.
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
        return engine.tf.distribute.OneDeviceStrategy(devices[0])
