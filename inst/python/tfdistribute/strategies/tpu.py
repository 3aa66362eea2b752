"""A copy of the model on each core of a TPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.errors import ArgumentError
from tfdistribute.strategies.description import Strategy
from tfdistribute.strategies.not_on_one_machine import not_on_one_machine


@dataclass(frozen=True)
class Tpu(Strategy, kind="tpu"):
    """Train on a TPU. Described only: it cannot be performed yet.

    Args:
        address: Name or gRPC address of the TPU; "local" on a TPU machine.

    Raises:
        ArgumentError: address is empty.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/distribute/TPUStrategy
    """

    address: str

    def __post_init__(self) -> None:
        """Check what can be known without a TPU."""
        if not self.address.strip():
            raise ArgumentError(
                "`address` is empty.",
                'Give the name or address of the TPU, or "local" on a TPU machine.',
                argument="address",
                value=self.address,
            )

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Refuse: TPUs cannot be used yet."""
        raise not_on_one_machine("strategy_tpu", "a TPU")

    def build(self, devices: tuple[str, ...]) -> Any:
        """Refuse, as ``resolve``."""
        raise not_on_one_machine("strategy_tpu", "a TPU")
