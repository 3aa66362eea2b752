"""Rules common to every division of rows into training steps."""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute.errors import ShardingError
from tfdistribute.sharding.shard import Shard


def replica_batch_size(global_batch_size: int, replicas: int) -> int:
    """Split one training step's examples evenly over the replicas.

    Args:
        global_batch_size: Examples per step, summed over replicas, at least 1.
        replicas: Replicas in sync over all workers, at least 1.

    Returns:
        Examples per batch: the first dimension of every feature tensor.

    Raises:
        ShardingError: global_batch_size is not a multiple of replicas.

    Source:
        https://www.tensorflow.org/guide/distributed_training, "Using tf.distribute.Strategy with Estimator":
        the batch that an input function returns is one replica's.
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

    Args:
        rows: Rows of one epoch over all pipelines, at least 1.
        epochs: Passes over the rows; None repeats forever.
        global_batch_size: Examples per step, summed over replicas.
        shard: The part of this pipeline.

    Raises:
        ShardingError: the batch does not divide over the replicas, or there are fewer rows than replicas.
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
        """Examples of a full batch as a model sees it."""
        return replica_batch_size(self.global_batch_size, self.shard.replicas)

    @property
    def examples(self) -> int | None:
        """Examples of all epochs over all pipelines; None if endless."""
        return None if self.epochs is None else self.rows * self.epochs


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
