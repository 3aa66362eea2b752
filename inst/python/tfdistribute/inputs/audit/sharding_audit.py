"""Sharding audit: runs every worker's pipeline in this process and counts the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.inputs.audit.row_hashes import hash_rows
from tfdistribute.inputs.description import Input
from tfdistribute.inputs.session_batches import endless_error, read_batches

# A dataset of unknown length with more rows than this counts as endless.
MOST_ROWS = 50_000_000


@dataclass(frozen=True)
class PipelineAudit:
    """One worker's counts."""

    worker: int
    rows: int
    steps: int  # Each takes one batch per replica.
    smallest_batch: int | None  # None if it read none.
    largest_batch: int | None
    seed: int | None  # None if unknown.


@dataclass(frozen=True)
class ShardingAudit:
    """Rows read by all workers, compared with a single pipeline."""

    rows: int
    rows_missing: int
    rows_repeated: int
    rows_unknown: int
    in_step: bool
    workers: tuple[PipelineAudit, ...]

    @property
    def steps_agree(self) -> bool:
        return not self.in_step or len({worker.steps for worker in self.workers}) == 1

    @property
    def ok(self) -> bool:
        """Whether all workers together read each row as often as a single pipeline, and none runs out first."""
        wrong = self.rows_missing + self.rows_repeated + self.rows_unknown
        return wrong == 0 and self.steps_agree


def audit_sharding(
    source: Input, workers: int = 2, replicas: int | None = 1, seed: int = 1
) -> ShardingAudit:
    """Run all workers' training pipelines and compare their rows with those of a single pipeline.

    Rows are identified by their feature and label values. A row that occurs twice in the data must be read twice. Rows
    that a function pads to the longest in their batch are not recognised. ``replicas`` is None if workers train
    asynchronously.
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
    """One input pipeline, read to its end."""

    def __init__(self, source: Input, seed: int) -> None:
        self._source = source
        self._seed = seed
        self._parts: list[npt.NDArray[np.uint64]] = []

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        return np.concatenate([np.empty(0, np.uint64), *self._parts])

    def run(self, pipelines: int, pipeline: int, replicas: int) -> None:
        """Read everything in a new graph, as an Estimator does."""
        context = engine.tf.distribute.InputContext(pipelines, pipeline, replicas)
        rows = 0
        for batch in read_batches(self._source, "train", self._seed, context):
            hashes = hash_rows(batch)
            self._parts.append(hashes)
            rows += len(hashes)
            if rows > MOST_ROWS:
                raise endless_error()

    def summary(self, worker: int, replicas: int, seed: int | None) -> PipelineAudit:
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
    """Count missing, repeated and unknown rows as multisets."""
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
