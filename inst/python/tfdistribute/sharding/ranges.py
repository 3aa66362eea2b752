"""Sharding of rows in files: one contiguous range per input pipeline and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tfdistribute.sharding.steps import StepPlan, split


@dataclass(frozen=True)
class RangePlan(StepPlan):
    """The rows and batches of one input pipeline, if each reads its own part of the files.

    The rows of an epoch are cut into one range per pipeline, before any shuffle. Ranges differ by at most one row,
    and the pipelines take turns with the longer ones, so that totals over all epochs also differ by at most one row.
    Therefore all pipelines take the same number of steps with no row lost, repeated or padded; the last step follows
    the rule of ``batches.py``.
    """

    @property
    def own_examples(self) -> int | None:
        if self.examples is None:
            return None
        return split(self.examples, self.shard.pipelines)[self.shard.pipeline]

    def range_of(self, epoch: int) -> tuple[int, int]:
        """Return an epoch's first row for this pipeline, and the row after the last; epochs count from 0."""
        pipelines = self.shard.pipelines
        size, longer = divmod(self.rows, pipelines)
        # Each epoch continues the rotation of the longer ranges.
        first_longer = epoch * longer % pipelines
        start = self.shard.pipeline * size + sum(
            (pipeline - first_longer) % pipelines < longer
            for pipeline in range(self.shard.pipeline)
        )
        is_longer = (self.shard.pipeline - first_longer) % pipelines < longer
        return start, start + size + is_longer

    @property
    def full_steps(self) -> int | None:
        if self.examples is None or self.own_examples is None:
            return None
        replicas, pipelines = len(self.shard.own_replicas), self.shard.pipelines
        if self.shard.in_turns:
            # Asynchronous: each pipeline ends when its own rows do.
            return self.own_examples // self.replica_batch_size
        shortest, step = self.examples // pipelines, replicas * self.replica_batch_size
        steps, rest = divmod(shortest, step)
        nothing_left = rest == 0 and self.examples % pipelines == 0
        return steps if nothing_left or rest >= replicas else steps - 1

    @property
    def last_batches(self) -> tuple[int, ...]:
        """Sizes of this pipeline's batches in a last step of another size; empty otherwise."""
        if self.own_examples is None or self.full_steps is None:
            return ()
        replicas = len(self.shard.own_replicas)
        rest = self.own_examples - self.full_steps * replicas * self.replica_batch_size
        return split(rest, replicas) if rest else ()

    def chunks(self, batches: int) -> Iterator[tuple[int, int]]:
        """Yield this pipeline's batches, at most ``batches`` at a time: their number, and the examples of each."""
        left = None if self.full_steps is None else self.full_steps * len(self.shard.own_replicas)
        while left is None or left > 0:
            count = batches if left is None else min(batches, left)
            yield count, self.replica_batch_size
            left = None if left is None else left - count
        for size in self.last_batches:
            yield 1, size
