"""Who reads what: the rows of every global batch, and how replicas and workers share them. Plain Python.

The rows of all epochs make one stream: the rows of epoch 0 in their order, then those of epoch 1 in theirs.
The stream is cut into global batches, and every global batch into one contiguous slice per replica. An input
pipeline (one per worker) reads the slices of its own replicas only. One process, several devices and several
workers therefore see the same global batches, and every row is read once per epoch.

The end of the stream is neither padded nor dropped. All pipelines take the same number of steps, because a worker
that ends first leaves the others waiting for ever, and every replica has a row in every step, because TensorFlow
drops a step in which one has none. So what is left after the last full step is a smaller step, cut into nearly equal
slices; where it has fewer rows than there are replicas, it is joined to the step before. Ruled out: padding with rows
of weight zero, which every loss and metric would have to know of; and dropping, which evaluates on fewer rows than
there are. Files are divided in another way, into ranges, by the same rule (``inputs/ranges.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tfdistribute.errors import ShardingError


class InputContext(Protocol):
    """What TensorFlow tells an input function: ``tf.distribute.InputContext``, or anything like it."""

    @property
    def num_input_pipelines(self) -> int:
        """Input pipelines over all workers."""
        ...

    @property
    def input_pipeline_id(self) -> int:
        """Position of this pipeline."""
        ...

    @property
    def num_replicas_in_sync(self) -> int:
        """Replicas that share a step."""
        ...


@dataclass(frozen=True)
class Shard:
    """The part of the batches that one input pipeline reads.

    Args:
        pipelines: Input pipelines over all workers, at least 1.
        pipeline: Position of this one, from 0.
        replicas: Replicas in sync over all workers, at least 1.
    """

    pipelines: int = 1
    pipeline: int = 0
    replicas: int = 1

    @classmethod
    def of(cls, input_context: InputContext | None) -> Shard:
        """Read the shard that TensorFlow asks for.

        Args:
            input_context: What the input function was given; None outside a strategy.

        Returns:
            The shard; without a context the whole of every batch, for one replica.

        Raises:
            ShardingError: the replicas cannot be divided over the pipelines.
        """
        if input_context is None:
            return cls()
        shard = cls(
            input_context.num_input_pipelines,
            input_context.input_pipeline_id,
            input_context.num_replicas_in_sync,
        )
        if not shard.in_turns and shard.replicas % shard.pipelines:
            raise ShardingError(
                f"{shard.replicas} replicas cannot be divided evenly over {shard.pipelines} workers.",
                "Give every worker the same number of devices.",
            )
        return shard

    @property
    def in_turns(self) -> bool:
        """Whether pipelines take whole batches in turns, because their replicas train out of step.

        Source:
            ``tf.distribute.experimental.ParameterServerStrategy`` reports one replica in sync for any number
            of workers.
        """
        return self.replicas == 1 and self.pipelines > 1

    @property
    def own_replicas(self) -> range:
        """Positions of the replicas that this pipeline feeds."""
        if self.in_turns:
            return range(1)
        count = self.replicas // self.pipelines
        return range(self.pipeline * count, (self.pipeline + 1) * count)


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
        f"A batch of {_examples(global_batch_size)} cannot be split evenly over {replicas} replicas.",
        f"Use {choices}.",
        argument="batch_size",
        value=str(global_batch_size),
    )


def split(examples: int, parts: int) -> tuple[int, ...]:
    """Cut a number of examples into nearly equal parts.

    Args:
        examples: How many there are.
        parts: How many parts to make, at least 1.

    Returns:
        Sizes that differ by 1 at most and add up to ``examples``; the larger ones come first.
    """
    size, larger = divmod(examples, parts)
    return tuple(size + 1 if part < larger else size for part in range(parts))


@dataclass(frozen=True)
class BatchPlan:
    """The batches of all epochs, as one input pipeline reads them.

    Every step has exactly one batch for each replica; the last one may be smaller or, joined with the rest, larger.

    Args:
        rows: Rows of one epoch, at least 1.
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
        if self.examples is not None and self.examples < self.shard.replicas:
            raise ShardingError(
                f"{_examples(self.examples)} cannot be split over {self.shard.replicas} replicas.",
                f"Use at least {self.shard.replicas} rows, or at most {_replicas(self.examples)}.",
            )

    @property
    def replica_batch_size(self) -> int:
        """Examples of a batch as a model sees it."""
        return replica_batch_size(self.global_batch_size, self.shard.replicas)

    @property
    def examples(self) -> int | None:
        """Examples of all epochs, over all pipelines; None: without end."""
        return None if self.epochs is None else self.rows * self.epochs

    @property
    def full_steps(self) -> int | None:
        """Steps with a batch of the full size, over all pipelines; None: without end."""
        if self.examples is None:
            return None
        steps, rest = divmod(self.examples, self.global_batch_size)
        return steps - 1 if 0 < rest < self.shard.replicas else steps

    @property
    def steps(self) -> int | None:
        """Steps of all epochs, the same for all pipelines; None: without end."""
        return None if self.full_steps is None else self.full_steps + bool(self.last_slices)

    @property
    def last_slices(self) -> tuple[int, ...]:
        """Sizes of the replicas' batches in the last step, where it has another size; else empty."""
        if self.examples is None or self.full_steps is None:
            return ()
        rest = self.examples - self.full_steps * self.global_batch_size
        return split(rest, self.shard.replicas) if rest else ()

    def chunks(self, batches: int) -> Iterator[npt.NDArray[np.int64]]:
        """Walk through this pipeline's batches, many at a time.

        Args:
            batches: How many batches to take at once, at most; at least one step's are taken.

        Yields:
            Positions in the stream of rows, of shape [batches, examples per batch].
        """
        own, size = self.shard.own_replicas, self.replica_batch_size
        step, stride = (
            (self.shard.pipeline, self.shard.pipelines) if self.shard.in_turns else (0, 1)
        )
        steps_at_once = max(1, batches // len(own))
        within = own.start * size + np.arange(len(own) * size, dtype=np.int64)
        while self.full_steps is None or step < self.full_steps:
            last = step + steps_at_once * stride
            if self.full_steps is not None:
                last = min(last, self.full_steps)
            starts = np.arange(step, last, stride, dtype=np.int64) * self.global_batch_size
            yield (starts[:, np.newaxis] + within).reshape(-1, size)
            step += len(starts) * stride
        yield from self._last_batches()

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


def _examples(count: int) -> str:
    return "1 example" if count == 1 else f"{count} examples"


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"
