"""Audit of N workers: their pipelines run one after another in this process, and their rows are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.inputs.audit.row_hashes import hash_rows
from tfdistribute.inputs.description import Input
from tfdistribute.inputs.session_batches import endless_error, read_batches

# A dataset of unknown length that has more rows than this is treated as endless.
MOST_ROWS = 50_000_000


@dataclass(frozen=True)
class PipelineAudit:
    """Count of one worker.

    Args:
        worker: Its position, from 0.
        rows: Examples.
        steps: Training steps: a step takes one batch for each of its replicas.
        smallest_batch: Examples of its smallest batch; None if it read none.
        largest_batch: Examples of its largest batch; None if it read none.
        seed: Seed of the input's shuffle, the same for all workers; None if it is not known.
    """

    worker: int
    rows: int
    steps: int
    smallest_batch: int | None
    largest_batch: int | None
    seed: int | None


@dataclass(frozen=True)
class ShardingAudit:
    """Comparison of the rows that all workers read with those that one reads alone.

    Args:
        rows: Rows that one pipeline alone reads.
        rows_missing: Rows that no worker read.
        rows_repeated: Rows that were read more often than by one pipeline alone.
        rows_unknown: Rows that were read, but that one pipeline alone does not read.
        in_step: Whether the workers take their steps together.
        workers: Count of each worker.
    """

    rows: int
    rows_missing: int
    rows_repeated: int
    rows_unknown: int
    in_step: bool
    workers: tuple[PipelineAudit, ...]

    @property
    def steps_agree(self) -> bool:
        """Whether workers that step together all have the same number of steps."""
        return not self.in_step or len({worker.steps for worker in self.workers}) == 1

    @property
    def ok(self) -> bool:
        """Whether every row is read as often as by one pipeline alone, and no worker runs out first."""
        wrong = self.rows_missing + self.rows_repeated + self.rows_unknown
        return wrong == 0 and self.steps_agree


def audit_sharding(
    source: Input, workers: int = 2, replicas: int | None = 1, seed: int = 1
) -> ShardingAudit:
    """Run the training pipelines of all workers, and compare their rows with those that one reads alone.

    Rows are recognised by the values of their features and labels, and counted: rows that occur twice in the
    data have to be read twice. Rows that a function pads to the longest of its batch are not recognised.

    Args:
        source: The input. It has to end.
        workers: How many input pipelines.
        replicas: Replicas of each worker, which take their steps together with those of all workers; None: the
            workers train out of step, as with parameter servers.
        seed: Seed of the run, used if the input has none of its own.

    Returns:
        The counts in total and of each worker.

    Raises:
        InputError: the input does not end, or cannot be read.
        ShardingError: a batch cannot be divided over so many replicas.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/distribute/InputContext
    """
    in_sync = 1 if replicas is None else workers * replicas
    expected = _Pipeline(source, seed)
    expected.run(1, 0, 1)
    own_seed = source.shuffle_seed(seed)
    workers_read: list[PipelineAudit] = []
    found: list[npt.NDArray[np.uint64]] = []
    for worker in range(workers):
        pipeline = _Pipeline(source, seed)
        pipeline.run(workers, worker, in_sync)
        found.append(pipeline.hashes)
        workers_read.append(pipeline.summary(worker, replicas or 1, own_seed))
    return ShardingAudit(
        len(expected.hashes),
        *_compare(expected.hashes, np.concatenate(found)),
        in_step=replicas is not None,
        workers=tuple(workers_read),
    )


class _Pipeline:
    """One input pipeline, run to its end."""

    def __init__(self, source: Input, seed: int) -> None:
        self._source = source
        self._seed = seed
        self._parts: list[npt.NDArray[np.uint64]] = []

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """Hash of each row that was read."""
        return np.concatenate([np.empty(0, np.uint64), *self._parts])

    def run(self, pipelines: int, pipeline: int, replicas: int) -> None:
        """Read everything, as an Estimator does: in its own graph."""
        context = engine.tf.distribute.InputContext(pipelines, pipeline, replicas)
        rows = 0
        for batch in read_batches(self._source, "train", self._seed, context):
            hashes = hash_rows(batch)
            self._parts.append(hashes)
            rows += len(hashes)
            if rows > MOST_ROWS:
                raise endless_error()

    def summary(self, worker: int, replicas: int, seed: int | None) -> PipelineAudit:
        """Count what was read."""
        sizes = [len(part) for part in self._parts]
        return PipelineAudit(
            worker,
            sum(sizes),
            -(-len(sizes) // replicas),
            min(sizes, default=None),
            max(sizes, default=None),
            seed,
        )


def _compare(
    expected: npt.NDArray[np.uint64], found: npt.NDArray[np.uint64]
) -> tuple[int, int, int]:
    """Count missing, repeated and unknown rows, as multisets."""
    _, index = np.unique(np.concatenate([expected, found]), return_inverse=True)
    kinds = int(index.max()) + 1 if len(index) else 0
    before = np.bincount(index[: len(expected)], minlength=kinds)
    after = np.bincount(index[len(expected) :], minlength=kinds)
    surplus = after - before
    known = before > 0
    return (
        int(-surplus[surplus < 0].sum()),
        int(surplus[known & (surplus > 0)].sum()),
        int(after[~known].sum()),
    )
