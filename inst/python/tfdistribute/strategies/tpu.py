"""TPU strategy: a copy of the model on each core of a TPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.strategies.description import Strategy


@dataclass(frozen=True)
class Tpu(Strategy, kind="tpu"):
    """Training on a TPU: description only, since this version does not train on TPUs.

    Args:
        address: Name or gRPC address of the TPU; "local" on a TPU machine.

    Raises:
        ArgumentError: the address is empty.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/distribute/TPUStrategy
    """

    address: str

    def __post_init__(self) -> None:
        if not self.address.strip():
            raise ArgumentError(
                "`address` is empty.",
                'Give the name or address of the TPU, or "local" on a TPU machine.',
                argument="address",
                value=self.address,
            )

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Refuse to train on TPUs."""
        raise _unsupported()

    def build(self, devices: tuple[str, ...]) -> Any:
        """Refuse to train on TPUs."""
        raise _unsupported()


def _unsupported() -> UnsupportedError:
    return UnsupportedError(
        "strategy_tpu() describes training on a TPU, which this version does not support.",
        "Use strategy_mirrored() to train on this machine's devices.",
        argument="train_distribute",
        value="strategy_tpu()",
    )
