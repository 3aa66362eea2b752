"""Central storage strategy: variables in one place, computation on every device of one machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Rows, Strategy
from tfdistribute.strategies.device_names import check_devices, choose_devices, short_names


@dataclass(frozen=True)
class CentralStorage(Strategy, kind="central_storage"):
    """Synchronous training on several devices, with the variables on the CPU (or on the only device)."""

    devices: int | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", check_devices(self.devices))

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        return choose_devices(self.devices, cpus, gpus)

    def described_rows(self) -> Rows | None:
        return None if self.devices is None else self.rows(short_names(self.devices))

    def build(self, devices: tuple[str, ...]) -> Any:
        return engine.tf.distribute.experimental.CentralStorageStrategy(list(devices))

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        """Return the hook that saves each variable once."""
        return [engine.repairs.KeepOneOfEachVariable()] if len(devices) > 1 else []
