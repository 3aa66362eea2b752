"""Parameter server strategy: variables on servers, computation on independent workers."""

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Strategy


@dataclass(frozen=True)
class ParameterServer(Strategy, kind="parameter_server"):
    """Asynchronous training with several processes.

    A worker with one device needs no TensorFlow strategy, and survives restarts of servers and other workers.
    """

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        return tuple(f"/device:GPU:{index}" for index in range(gpus)) or ("/device:CPU:0",)

    def build(self, devices: tuple[str, ...]) -> Any:
        if len(devices) <= 1:
            return None
        with engine.tf.Graph().as_default():
            return engine.tf.compat.v1.distribute.experimental.ParameterServerStrategy()
