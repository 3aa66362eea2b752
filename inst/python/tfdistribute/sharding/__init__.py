"""Sharding of rows over tasks: batches in memory, ranges in files.

The rows of all epochs form one stream: the rows of epoch 0 in their order, then the rows of epoch 1 in theirs.
The stream is cut into global batches, and each global batch into one contiguous slice per replica. An input
pipeline (one per worker) reads only the slices of its own replicas. One process, several devices and several
workers therefore see the same global batches, and every row is read once per epoch.

All pipelines take the same number of steps as one device, because a worker that ends first leaves its peers waiting
forever. The rows left after the last full step make a smaller step, cut into nearly equal slices. A replica whose
slice is empty computes a row that another slice has, because TensorFlow drops a step in which a replica has none, and
counts as no row (``engine/step/replica_scale.py``).
Rows of files are divided into ranges by the same rule.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tfdistribute.errors import ShardingError

# NumPy's seeds cannot be negative; TensorFlow's can.
_SEED_BITS = 2**63 - 1


class InputContext(Protocol):
    """Argument of input functions: ``tf.distribute.InputContext`` or an equivalent."""

    @property
    def num_input_pipelines(self) -> int: ...

    @property
    def input_pipeline_id(self) -> int: ...

    @property
    def num_replicas_in_sync(self) -> int: ...


@dataclass(frozen=True)
class Shard:
    pipelines: int = 1
    pipeline: int = 0
    replicas: int = 1

    @classmethod
    def of(cls, input_context: InputContext | None) -> "Shard":
        """Return the shard that TensorFlow asks for; without a context, all of every batch, for one replica."""
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
        """Whether pipelines take turns with whole batches, because their replicas train asynchronously.

        ``ParameterServerStrategy`` reports one replica in sync for any number of workers.
        """
        return self.replicas == 1 and self.pipelines > 1

    @property
    def own_replicas(self) -> range:
        if self.in_turns:
            return range(1)
        count = self.replicas // self.pipelines
        return range(self.pipeline * count, (self.pipeline + 1) * count)


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


def batch_bounds(slices: tuple[int, ...], replica: int) -> tuple[int, int]:
    """Return the first row of a replica's batch, and the row after the last; one row of the step for an empty slice."""
    if slices[replica] == 0:
        repeated = replica % sum(slices)
        return repeated, repeated + 1
    first = sum(slices[:replica])
    return first, first + slices[replica]


@dataclass(frozen=True)
class StepPlan:
    """The steps of all epochs, as one input pipeline takes part in them.

    ``rows`` and ``global_batch_size`` are sums over all pipelines. Raises ShardingError if the batch does not divide
    over the replicas.
    """

    rows: int
    epochs: int | None
    global_batch_size: int
    shard: Shard = Shard()
    first: int = 0  # Position in the stream at which reading begins.
    done: int = 0  # Rows of ``epochs`` that were read before it.

    def __post_init__(self) -> None:
        replica_batch_size(self.global_batch_size, self.shard.replicas)

    @property
    def replica_batch_size(self) -> int:
        return replica_batch_size(self.global_batch_size, self.shard.replicas)

    @property
    def examples(self) -> int | None:
        return None if self.epochs is None else max(0, self.rows * self.epochs - self.done)

    @property
    def full_steps(self) -> int | None:
        return None if self.examples is None else self.examples // self.global_batch_size


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class BatchPlan(StepPlan):
    """The batches of all epochs, as one input pipeline reads them.

    Every step has exactly one batch per replica. The last one may be smaller.
    """

    @property
    def steps(self) -> int | None:
        """Steps of all epochs, the same for all pipelines; None if endless."""
        return None if self.full_steps is None else self.full_steps + bool(self.last_slices)

    @property
    def last_slices(self) -> tuple[int, ...]:
        """Sizes of all replicas' batches in a last step of fewer rows; empty if there is none."""
        rest = 0 if self.examples is None else self.examples % self.global_batch_size
        return split(rest, self.shard.replicas) if rest else ()

    @property
    def last_batches(self) -> tuple[int, ...]:
        """Sizes of this pipeline's batches in that step."""
        own = self.shard.own_replicas
        return self.last_slices[own.start : own.stop]

    @property
    def uneven_step(self) -> tuple[int, tuple[float, ...]] | None:
        """The last step, if its rows do not divide over the replicas: its number, and the scales of own replicas."""
        slices, step = self.last_slices, self.full_steps
        if step is None or len(set(slices)) < 2:
            return None
        return step, tuple(size * len(slices) / sum(slices) for size in self.last_batches)

    def chunks(self, batches: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield positions in the stream of rows, of shape [batches, examples per batch], many batches at a time.

        At least one step's batches are taken together.
        """
        own, size, steps = self.shard.own_replicas, self.replica_batch_size, self.full_steps
        step, stride = (
            (self.shard.pipeline, self.shard.pipelines) if self.shard.in_turns else (0, 1)
        )
        steps_at_once = max(1, batches // len(own))
        within = own.start * size + np.arange(len(own) * size, dtype=np.int64)
        while steps is None or step < steps:
            last = step + steps_at_once * stride
            if steps is not None:
                last = min(last, steps)
            starts = np.arange(step, last, stride, dtype=np.int64) * self.global_batch_size
            yield (self.first + starts[:, np.newaxis] + within).reshape(-1, size)
            step += len(starts) * stride
        yield from self._last_batches()

    def _last_batches(self) -> Iterator[npt.NDArray[np.int64]]:
        slices, step = self.last_slices, self.full_steps
        if not slices or step is None:
            return
        if self.shard.in_turns and step % self.shard.pipelines != self.shard.pipeline:
            return
        start = self.first + step * self.global_batch_size
        for replica in self.shard.own_replicas:
            first, last = batch_bounds(slices, replica)
            yield np.arange(start + first, start + last, dtype=np.int64)[np.newaxis, :]


@dataclass(frozen=True)
class RangePlan(StepPlan):
    """The rows and batches of one input pipeline, if each reads its own part of the files.

    The rows of an epoch are cut into one range per pipeline, before any shuffle. Ranges differ by at most one row,
    and the pipelines take turns with the longer ones, so that totals over all epochs also differ by at most one row.
    Therefore all pipelines take the same number of steps with no row lost; the last step follows the same rule. Raises
    ShardingError if there are fewer rows than pipelines, because each has only its own rows to repeat.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        pipelines = self.shard.pipelines
        examples = self.rows * (self.epochs or pipelines)
        if examples < pipelines and not self.shard.in_turns:
            raise ShardingError(
                f"{_count(examples, 'example')} cannot be split over {pipelines} workers.",
                f"Use at least {pipelines} rows, or at most {_count(examples, 'worker')}.",
            )

    @property
    def own_examples(self) -> int | None:
        if self.examples is None:
            return None
        return self.own_rows_before(self.first + self.examples) - self.own_rows_before(self.first)

    def step_before(self) -> "RangePlan":
        size = self.global_batch_size
        return replace(self, first=self.first - size, done=self.done - size)

    def own_rows_before(self, position: int) -> int:
        return split(position, self.shard.pipelines)[self.shard.pipeline]

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
        if self.shard.in_turns and self.own_examples is not None:
            # Asynchronous: each pipeline ends when its own rows do.
            return self.own_examples // self.replica_batch_size
        return super().full_steps

    @property
    def last_batches(self) -> tuple[int, ...]:
        """Sizes of this pipeline's batches in a last step of fewer rows; empty if there is none."""
        if self.examples is None or self.own_examples is None or self.full_steps is None:
            return ()
        replicas = len(self.shard.own_replicas)
        rest = self.own_examples - self.full_steps * replicas * self.replica_batch_size
        ends = not rest if self.shard.in_turns else self.examples % self.global_batch_size == 0
        return () if ends else split(rest, replicas)

    def chunks(self, batches: int) -> Iterator[tuple[int, int]]:
        """Yield this pipeline's batches, at most ``batches`` at a time: their number, and the examples of each.

        A batch of 0 examples is a repeated one.
        """
        left = None if self.full_steps is None else self.full_steps * len(self.shard.own_replicas)
        while left is None or left > 0:
            count = batches if left is None else min(batches, left)
            yield count, self.replica_batch_size
            left = None if left is None else left - count
        for size in self.last_batches:
            yield 1, size


class RowOrder:
    """The row at each position of the stream of all epochs; with a seed, the same order in every process."""

    def __init__(self, rows: int, seed: int | None) -> None:
        self._rows = rows
        self._seed = seed
        self._epoch = -1
        self._order: npt.NDArray[np.int32 | np.int64] = np.empty(0, np.int32)

    def at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.integer[Any]]:
        """Look up row numbers, from 0, by positions in the stream, in ascending order."""
        if self._seed is None:
            within = positions.size > 0 and int(positions.max()) < self._rows
            return positions if within else positions % self._rows
        epochs, offsets = np.divmod(positions, self._rows)
        first, last = int(epochs.flat[0]), int(epochs.flat[-1])
        if first == last:
            return self._epoch_order(first)[offsets]
        # A table may have fewer rows than a batch, so that there are thousands of epochs.
        ends = np.searchsorted(epochs.reshape(-1), np.arange(first, last + 1), side="right")
        parts = np.split(offsets.reshape(-1), ends[:-1])
        rows = [
            self._epoch_order(epoch)[part] for epoch, part in enumerate(parts, first) if len(part)
        ]
        return np.concatenate(rows).reshape(positions.shape)

    def _epoch_order(self, epoch: int) -> npt.NDArray[np.int32 | np.int64]:
        if epoch != self._epoch:
            self._order = epoch_order(self._rows, self._seed or 0, epoch)
            self._epoch = epoch
        return self._order


def epoch_order(rows: int, seed: int, epoch: int) -> npt.NDArray[np.int32 | np.int64]:
    order = np.arange(rows, dtype=np.int32 if rows <= np.iinfo(np.int32).max else np.int64)
    random_generator(seed, epoch).shuffle(order)
    return order


def random_generator(seed: int, *position: int) -> np.random.Generator:
    """Make the random generator of one epoch, and of one pipeline if each has its own order."""
    return np.random.default_rng((seed & _SEED_BITS, *position))
