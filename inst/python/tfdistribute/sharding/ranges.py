"""Who reads which rows of files: one contiguous range per input pipeline and epoch. Plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tfdistribute.errors import ShardingError
from tfdistribute.sharding.batches import Shard, replica_batch_size, split


@dataclass(frozen=True)
class RangePlan:
    """The rows and batches of one input pipeline, where each reads a part of the files of its own.

    The rows of an epoch are cut into one range per pipeline, before any shuffle. Ranges differ by one row at most,
    and the longer ones come to the pipelines in turns, so that also over all epochs no pipeline reads more than one
    row more than another. Therefore all pipelines take the same number of steps with no row lost, repeated or
    padded; the end is as ``sharding.py`` says.

    Args:
        rows: Rows of one epoch over all pipelines, at least 1.
        epochs: Passes over the rows; None: without end.
        global_batch_size: Examples of one step, summed over replicas.
        shard: The part to read.

    Raises:
        ShardingError: the batch does not divide over the replicas, or there are fewer rows than replicas.
    """

    rows: int
    epochs: int | None
    global_batch_size: int
    shard: Shard = Shard()

    def __post_init__(self) -> None:
        """Check that every replica gets something in every step."""
        replica_batch_size(self.global_batch_size, self.shard.replicas)
        examples, replicas = self.examples, self.shard.replicas
        if examples is not None and examples < replicas:
            raise ShardingError(
                f"{examples} row{'' if examples == 1 else 's'} cannot be split over {replicas} replicas.",
                f"Use at least {replicas} rows, or fewer devices.",
            )

    @property
    def examples(self) -> int | None:
        """Rows of all epochs over all pipelines; None: without end."""
        return None if self.epochs is None else self.rows * self.epochs

    @property
    def own_examples(self) -> int | None:
        """Rows of all epochs that this pipeline reads; None: without end."""
        if self.examples is None:
            return None
        return split(self.examples, self.shard.pipelines)[self.shard.pipeline]

    @property
    def replica_batch_size(self) -> int:
        """Examples of a full batch as a model sees it."""
        return replica_batch_size(self.global_batch_size, self.shard.replicas)

    def range_of(self, epoch: int) -> tuple[int, int]:
        """Say which rows this pipeline reads in an epoch.

        Args:
            epoch: Which pass, from 0.

        Returns:
            First row, and the one after the last.
        """
        pipelines = self.shard.pipelines
        size, longer = divmod(self.rows, pipelines)
        # The longer ranges are dealt out like cards: each epoch goes on where the last one stopped.
        first_longer = epoch * longer % pipelines
        start = self.shard.pipeline * size + sum(
            (pipeline - first_longer) % pipelines < longer
            for pipeline in range(self.shard.pipeline)
        )
        is_longer = (self.shard.pipeline - first_longer) % pipelines < longer
        return start, start + size + is_longer

    @property
    def full_steps(self) -> int | None:
        """Steps of this pipeline with batches of the full size; None: without end."""
        if self.examples is None or self.own_examples is None:
            return None
        replicas, pipelines = len(self.shard.own_replicas), self.shard.pipelines
        if self.shard.in_turns:
            # Out of step: each pipeline ends when its own rows do.
            return self.own_examples // self.replica_batch_size
        shortest, step = self.examples // pipelines, replicas * self.replica_batch_size
        steps, rest = divmod(shortest, step)
        nothing_left = rest == 0 and self.examples % pipelines == 0
        return steps if nothing_left or rest >= replicas else steps - 1

    @property
    def last_batches(self) -> tuple[int, ...]:
        """Sizes of this pipeline's batches in a last step of another size; else empty."""
        if self.own_examples is None or self.full_steps is None:
            return ()
        replicas = len(self.shard.own_replicas)
        rest = self.own_examples - self.full_steps * replicas * self.replica_batch_size
        return split(rest, replicas) if rest else ()

    def chunks(self, batches: int) -> Iterator[tuple[int, int]]:
        """Walk through this pipeline's batches, many at a time.

        Args:
            batches: How many to take at once, at most.

        Yields:
            Number of batches, and the examples of each.
        """
        left = None if self.full_steps is None else self.full_steps * len(self.shard.own_replicas)
        while left is None or left > 0:
            count = batches if left is None else min(batches, left)
            yield count, self.replica_batch_size
            left = None if left is None else left - count
        for size in self.last_batches:
            yield 1, size
