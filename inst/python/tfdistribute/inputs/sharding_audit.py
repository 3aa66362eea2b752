"""Sharding audit: runs every worker's pipeline in this process, and counts the rows by hashes of their values.

``read_batches`` reads the batches of an input in a session as an Estimator would.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import Input, Purpose
from tfdistribute.sharding import InputContext

# A dataset of unknown length with more rows than this counts as endless.
MOST_ROWS = 50_000_000

# Of the shuffling of an input that sets no seed.
_SEED = 1


# Constants of splitmix64, https://prng.di.unimi.it/splitmix64.c: each step mixes every bit into all others.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class PipelineAudit:
    worker: int
    rows: int
    steps: int  # Each takes one batch per replica.
    smallest_batch: int | None  # None if it read none.
    largest_batch: int | None
    seed: int | None  # None if unknown.


@dataclass(frozen=True)
class ShardingAudit:
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


def audit_sharding(source: Input, workers: int, replicas: int | None = 1) -> ShardingAudit:
    """Run all workers' training pipelines and compare their rows with the rows of a single pipeline.

    Rows are identified by their feature and label values. A row that occurs twice in the data must be read twice. Rows
    that a function pads to the longest in their batch are not recognized. ``replicas`` is None if workers train
    asynchronously.
    """
    in_sync = 1 if replicas is None else workers * replicas
    expected = _Pipeline(source)
    expected.run(1, 0, 1)
    own_seed = source.shuffle_seed(_SEED)
    workers_read: list[PipelineAudit] = []
    hashes: list[npt.NDArray[np.uint64]] = []
    for worker in range(workers):
        pipeline = _Pipeline(source)
        pipeline.run(workers, worker, in_sync)
        hashes.append(pipeline.hashes)
        workers_read.append(pipeline.summary(worker, replicas or 1, own_seed))
    return ShardingAudit(
        len(expected.hashes),
        *_compare(expected.hashes, np.concatenate(hashes)),
        in_step=replicas is not None,
        workers=tuple(workers_read),
    )


class _Pipeline:
    def __init__(self, source: Input) -> None:
        self._source = source
        self._parts: list[npt.NDArray[np.uint64]] = []

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        return np.concatenate([np.empty(0, np.uint64), *self._parts])

    def run(self, pipelines: int, pipeline: int, replicas: int) -> None:
        context = engine.tf.distribute.InputContext(pipelines, pipeline, replicas)
        rows = 0
        replica_scale = engine.step.replica_scale
        with replica_scale.counting_rows():
            for batch in read_batches(self._source, "train", _SEED, context):
                counted = isinstance(batch, replica_scale.CountedBatch)
                hashes = hash_rows(batch.batch)[: batch.rows] if counted else hash_rows(batch)
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


def hash_rows(batch: Any) -> npt.NDArray[np.uint64]:
    hashes: npt.NDArray[np.uint64] | None = None
    for part in _values(batch):
        own = _hash_part(part)
        hashes = own if hashes is None else _mix(hashes * _FACTORS[0] + own)
    return np.empty(0, np.uint64) if hashes is None else hashes


def _values(batch: Any) -> Iterator[Any]:
    if isinstance(batch, Mapping):
        features = cast(Mapping[str, Any], batch)
        for name in sorted(features):
            yield from _values(features[name])
    elif isinstance(batch, (list, tuple)) and not hasattr(batch, "dense_shape"):
        for part in cast(Sequence[Any], batch):
            yield from _values(part)
    else:
        yield batch


def _hash_part(part: Any) -> npt.NDArray[np.uint64]:
    if hasattr(part, "dense_shape"):
        return _hash_sparse(part)
    if hasattr(part, "to_list"):
        return _hash_texts([repr(row).encode() for row in part.to_list()])
    values = np.asarray(part)
    if values.ndim == 0:
        return _hash_texts([repr(values.item()).encode()])
    rows = values.reshape(len(values), int(np.prod(values.shape[1:], dtype=np.int64)))
    strings = rows.dtype.kind == "O"
    words = (
        _hash_texts(rows.reshape(-1).tolist()).reshape(rows.shape) if strings else _as_words(rows)
    )
    hashes = np.zeros(len(rows), np.uint64)
    for column in range(words.shape[1]):
        hashes = _mix(hashes + _STEP + words[:, column])
    return hashes


def _as_words(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    row_bytes = rows.shape[1] * rows.dtype.itemsize
    padded = np.zeros((len(rows), -(-row_bytes // 8) * 8), np.uint8)
    if row_bytes:
        padded[:, :row_bytes] = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    return padded.view(np.uint64)


def _hash_sparse(part: Any) -> npt.NDArray[np.uint64]:
    rows: list[list[Any]] = [[] for _ in range(int(part.dense_shape[0]))]
    for index, value in zip(part.indices.tolist(), part.values.tolist(), strict=True):
        rows[index[0]].append((index[1:], value))
    return _hash_texts([repr(row).encode() for row in rows])


def _hash_texts(texts: Sequence[bytes | str]) -> npt.NDArray[np.uint64]:
    return np.array([_hash_text(text) for text in texts], np.uint64)


@lru_cache(maxsize=100_000)
def _hash_text(text: bytes | str) -> int:
    data = text.encode() if isinstance(text, str) else text
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    # Overflow is intended: arithmetic is modulo 2^64.
    words = (words ^ (words >> np.uint64(30))) * _FACTORS[0]
    words = (words ^ (words >> np.uint64(27))) * _FACTORS[1]
    return words ^ (words >> np.uint64(31))


def read_batches(
    source: Input, purpose: Purpose, seed: int, context: InputContext | None = None
) -> Iterator[Any]:
    tf = engine.tf
    with tf.Graph().as_default(), source.serving():
        yield from _run(tf, source.input_fn(purpose, seed)(context))


def endless_error() -> InputError:
    return InputError(
        "The input does not end, so its rows cannot be counted.",
        "Let the function return a dataset without repeat().",
        argument="input",
    )


def _run(tf: Any, dataset: Any) -> Iterator[Any]:
    if not isinstance(dataset, tf.data.Dataset):
        raise InputError(
            "The input function returned tensors, which cannot be divided over workers.",
            "Return a tf.data.Dataset of batches.",
            argument="input",
        )
    cardinality = tf.data.experimental.cardinality(dataset)
    iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.compat.v1.Session() as session:
        if session.run(cardinality) == tf.data.experimental.INFINITE_CARDINALITY:
            raise endless_error()
        session.run(tf.compat.v1.tables_initializer())
        session.run(iterator.initializer)
        while True:
            try:
                batch = session.run(element)
            except tf.errors.OutOfRangeError:
                return
            yield batch
