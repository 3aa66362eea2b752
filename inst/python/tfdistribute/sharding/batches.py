"""Sharding of rows in memory: one slice of every global batch per replica.

The rows of all epochs form one stream: the rows of epoch 0 in their order, then those of epoch 1 in theirs.
The stream is cut into global batches, and each global batch into one contiguous slice per replica. An input
pipeline (one per worker) reads only the slices of its own replicas. One process, several devices and several
workers therefore see the same global batches, and every row is read once per epoch.

The end of the stream is neither padded nor dropped. All pipelines take the same number of steps, because a worker
that ends first leaves its peers waiting forever. Every replica has a row in every step, because TensorFlow drops a
step in which one has none. So the rows left after the last full step make a smaller step, cut into nearly equal
slices; if there are fewer of them than replicas, they join the previous step. Ruled out: padding with rows of weight
zero, which every loss and metric would have to handle; and dropping, which evaluates too few rows.
Rows of files are divided into ranges by the same rule (``ranges.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfdistribute.sharding.steps import StepPlan, split


@dataclass(frozen=True)
class BatchPlan(StepPlan):
    """The batches of all epochs, as one input pipeline reads them.

    Every step has exactly one batch per replica; the last one may be smaller or, merged with the remainder, larger.
    """

    @property
    def full_steps(self) -> int | None:
        if self.examples is None:
            return None
        steps, rest = divmod(self.examples, self.global_batch_size)
        return steps - 1 if 0 < rest < self.shard.replicas else steps

    @property
    def steps(self) -> int | None:
        """Steps of all epochs, the same for all pipelines; None if endless."""
        return None if self.full_steps is None else self.full_steps + bool(self.last_slices)

    @property
    def last_slices(self) -> tuple[int, ...]:
        """Sizes of the replicas' batches in a last step of another size; empty otherwise."""
        if self.examples is None or self.full_steps is None:
            return ()
        rest = self.examples - self.full_steps * self.global_batch_size
        return split(rest, self.shard.replicas) if rest else ()

    def chunks(self, batches: int, skipped: int = 0) -> Iterator[npt.NDArray[np.int64]]:
        """Yield positions in the stream of rows, of shape [batches, examples per batch], many batches at a time.

        At least one step's batches are taken at once. Leaving out ``skipped`` batches takes no time for each.
        """
        own, size, steps = self.shard.own_replicas, self.replica_batch_size, self.full_steps
        first, stride = (
            (self.shard.pipeline, self.shard.pipelines) if self.shard.in_turns else (0, 1)
        )
        steps_at_once = max(1, batches // len(own))
        within = own.start * size + np.arange(len(own) * size, dtype=np.int64)
        step = first + skipped // len(own) * stride
        # Not all batches of this step are left out.
        rest = skipped % len(own)
        while steps is None or step < steps:
            last = step + steps_at_once * stride
            if steps is not None:
                last = min(last, steps)
            starts = np.arange(step, last, stride, dtype=np.int64) * self.global_batch_size
            yield (starts[:, np.newaxis] + within).reshape(-1, size)[rest:]
            step, rest = step + len(starts) * stride, 0
        full = len(range(first, steps, stride)) * len(own)
        yield from list(self._last_batches())[max(0, skipped - full) :]

    def _last_batches(self) -> Iterator[npt.NDArray[np.int64]]:
        slices, step = self.last_slices, self.full_steps
        if not slices or step is None:
            return
        if self.shard.in_turns and step % self.shard.pipelines != self.shard.pipeline:
            return
        start = step * self.global_batch_size
        for replica in self.shard.own_replicas:
            first = start + sum(slices[:replica])
            yield np.arange(first, first + slices[replica], dtype=np.int64)[np.newaxis, :]
