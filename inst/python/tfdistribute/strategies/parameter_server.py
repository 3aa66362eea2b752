"""Variables on parameter servers, computation on workers that do not wait for each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.strategies.description import Strategy


@dataclass(frozen=True)
class ParameterServer(Strategy, kind="parameter_server"):
    """Train with several processes that do not wait for each other.

    A worker with one device needs no strategy of TensorFlow: its variables are placed on the servers, and it survives
    when servers and other workers are started again. A worker with several GPUs trains under
    ``tf.compat.v1.distribute.experimental.ParameterServerStrategy``.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/compat/v1/distribute/experimental/ParameterServerStrategy
    """

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Name the devices of this worker."""
        del cpus
        return tuple(f"/device:GPU:{index}" for index in range(gpus)) or ("/device:CPU:0",)

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make the strategy of version 1; None where one device needs none."""
        if len(devices) <= 1:
            return None
        with engine.tf.Graph().as_default():
            return engine.tf.compat.v1.distribute.experimental.ParameterServerStrategy()
