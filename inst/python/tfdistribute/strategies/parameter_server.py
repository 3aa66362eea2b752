"""Variables on parameter servers, computation on workers that do not wait for each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.strategies.description import Strategy
from tfdistribute.strategies.not_on_one_machine import not_on_one_machine


@dataclass(frozen=True)
class ParameterServer(Strategy, kind="parameter_server"):
    """Train on several machines, asynchronously. Described only: it cannot be performed yet.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/compat/v1/distribute/experimental/ParameterServerStrategy
    """

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Refuse: there is no cluster yet."""
        raise not_on_one_machine("strategy_parameter_server", "several machines")

    def build(self, devices: tuple[str, ...]) -> Any:
        """Refuse, as ``resolve``."""
        raise not_on_one_machine("strategy_parameter_server", "several machines")
