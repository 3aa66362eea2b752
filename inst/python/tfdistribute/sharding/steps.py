"""Rules common to every division of rows into training steps."""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute.errors import ShardingError
from tfdistribute.sharding.shard import Shard


def replica_batch_size(global_batch_size: int, replicas: int) -> int:
    """Split one training step's examples evenly over the replicas; ShardingError if they cannot be.

    Under a strategy, the batch that an input function returns is one replica's: see "Using tf.distribute.Strategy with
    Estimator" in https://www.tensorflow.org/guide/distributed_training.
    """
    if global_batch_size % replicas == 0:
        return global_batch_size // replicas
    lower = global_batch_size // replicas * replicas
    choices = f"{lower} or {lower + replicas}" if lower else f"{replicas}"
    raise ShardingError(
        f"A batch of {_count(global_batch_size, 'example')} cannot be split evenly over {replicas} replicas.",
        f"Use {choices}.",
        argument="batch_size",
        value=str(global_batch_size),
    )


def split(examples: int, parts: int) -> tuple[int, ...]:
    """Cut a number of examples into nearly equal parts, the larger ones first."""
    size, larger = divmod(examples, parts)
    return tuple(size + 1 if part < larger else size for part in range(parts))


@dataclass(frozen=True)
class StepPlan:
    """The steps of all epochs, as one input pipeline takes part in them.

    ``rows`` and ``global_batch_size`` are those of all pipelines. Raises ShardingError if the batch does not divide
    over the replicas, or there are fewer rows than replicas.
    """

    rows: int
    epochs: int | None
    global_batch_size: int
    shard: Shard = Shard()

    def __post_init__(self) -> None:
        replicas = self.shard.replicas
        replica_batch_size(self.global_batch_size, replicas)
        if self.examples is not None and self.examples < replicas:
            raise ShardingError(
                f"{_count(self.examples, 'example')} cannot be split over {replicas} replicas.",
                f"Use at least {replicas} rows, or at most {_count(self.examples, 'replica')}.",
            )

    @property
    def replica_batch_size(self) -> int:
        return replica_batch_size(self.global_batch_size, self.shard.replicas)

    @property
    def examples(self) -> int | None:
        return None if self.epochs is None else self.rows * self.epochs


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
