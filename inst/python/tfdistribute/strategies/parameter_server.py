"""Parameter server strategy: variables on servers, computation on independent workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Strategy


@dataclass(frozen=True)
class ParameterServer(Strategy, kind="parameter_server"):
    """Asynchronous training with several processes.

    A worker with one device needs no TensorFlow strategy: its variables are placed on the servers, and it survives
    restarts of servers and other workers. A worker with several GPUs trains under
    ``tf.compat.v1.distribute.experimental.ParameterServerStrategy``.
    """

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        del cpus
        return tuple(f"/device:GPU:{index}" for index in range(gpus)) or ("/device:CPU:0",)

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make TensorFlow 1's strategy; None for one device, which needs none."""
        if len(devices) <= 1:
            return None
        with engine.tf.Graph().as_default():
            return engine.tf.compat.v1.distribute.experimental.ParameterServerStrategy()
