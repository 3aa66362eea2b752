"""A copy of the model on each worker of a cluster; gradients are summed after every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.errors import ArgumentError
from tfdistribute.strategies.description import Strategy
from tfdistribute.strategies.not_on_one_machine import not_on_one_machine

COMMUNICATION = ("auto", "ring", "nccl")


@dataclass(frozen=True)
class MultiWorker(Strategy, kind="multi_worker"):
    """Train in step on several machines. Described only: it cannot be performed yet.

    Args:
        communication: How workers sum their gradients: "auto", "ring" (CPUs or GPUs) or "nccl" (GPUs).
        timeout_s: Seconds to wait for a peer; None for TensorFlow's own.

    Raises:
        ArgumentError: communication is none of these, or timeout_s is not positive.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/distribute/MultiWorkerMirroredStrategy
    """

    communication: str = "auto"
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        """Check what can be known without a cluster."""
        if self.communication not in COMMUNICATION:
            raise ArgumentError(
                f"`communication` must be one of {', '.join(COMMUNICATION)}, "
                f'not "{self.communication}".',
                'Use "auto".',
                argument="communication",
                value=self.communication,
            )
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise ArgumentError(
                f"`timeout_s` must be more than 0 seconds, not {self.timeout_s:g}.",
                "Give seconds, or NULL.",
                argument="timeout_s",
                value=str(self.timeout_s),
            )

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Refuse: there is no cluster yet."""
        raise not_on_one_machine("strategy_multi_worker", "several machines")

    def build(self, devices: tuple[str, ...]) -> Any:
        """Refuse, as ``resolve``."""
        raise not_on_one_machine("strategy_multi_worker", "several machines")
