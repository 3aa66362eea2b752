"""Central storage strategy: variables in one place, computation on every device of one machine."""

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import DeviceStrategy


@dataclass(frozen=True)
class CentralStorage(DeviceStrategy, kind="central_storage"):
    def build(self, devices: tuple[str, ...]) -> Any:
        return engine.tf.distribute.experimental.CentralStorageStrategy(list(devices))

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        return [engine.repairs.KeepOneOfEachVariable()] if len(devices) > 1 else []
