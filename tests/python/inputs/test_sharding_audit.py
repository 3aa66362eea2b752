"""Sharding audit: rows that workers lose or repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input, audit_sharding
from tfdistribute.inputs.sharding_audit import hash_rows


def in_memory(rows: int, batch_size: int = 60, **fields: Any) -> Input:
    def column(name: str, values: Any) -> dict[str, Any]:
        return {"name": name, "type": "float", "values": lambda: values}

    columns = [column("x", np.arange(rows) % 50.0), column("y", np.arange(rows) // 50.0)]
    return read(
        Input,
        {
            "kind": "in_memory",
            "columns": columns,
            "response": "y",
            "batch_size": batch_size,
            **fields,
        },
    )


def from_function(make: Any) -> Input:
    return read(Input, {"kind": "dataset_function", "function": make})


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("rows", [7, 60, 61, 97, 131])
def test_data_in_memory_is_read_once_whatever_the_numbers(workers: int, rows: int, tensorflow: Any):
    audit = audit_sharding(in_memory(rows), workers)
    assert audit.ok
    assert (audit.rows_missing, audit.rows_repeated, audit.rows_unknown) == (0, 0, 0)
    assert audit.rows == rows == sum(worker.rows for worker in audit.workers)
    assert len({worker.steps for worker in audit.workers}) == 1


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_workers_out_of_step_may_read_nothing(workers: int, tensorflow: Any):
    audit = audit_sharding(in_memory(1), workers, replicas=None)
    assert audit.ok
    assert [worker.rows for worker in audit.workers] == [1] + [0] * (workers - 1)
    assert [worker.smallest_batch for worker in audit.workers[1:]] == [None] * (workers - 1)


def test_workers_in_step_may_repeat_a_row_that_counts_nothing(tensorflow: Any):
    audit = audit_sharding(in_memory(1), 2)
    assert audit.ok
    assert [(each.rows, each.steps) for each in audit.workers] == [(1, 1), (0, 1)]


def test_batches_steps_and_seed_of_a_worker_are_reported(tensorflow: Any):
    audit = audit_sharding(in_memory(100, batch_size=16, seed=5), 2, replicas=2)
    assert [worker.worker for worker in audit.workers] == [0, 1]
    assert {worker.steps for worker in audit.workers} == {7}
    assert {(worker.smallest_batch, worker.largest_batch) for worker in audit.workers} == {(1, 4)}
    assert {worker.seed for worker in audit.workers} == {5}
    assert {worker.seed for worker in audit_sharding(in_memory(4), 2).workers} == {1}
    unshuffled = audit_sharding(in_memory(4, shuffle=False), 2)
    assert {worker.seed for worker in unshuffled.workers} == {None}


def test_a_function_that_does_not_shard_reads_every_row_once_per_worker(tensorflow: Any):
    tf = tensorflow
    source = from_function(lambda: tf.data.Dataset.range(40).batch(8))
    assert audit_sharding(source, 1).ok
    audit = audit_sharding(source, 3)
    assert not audit.ok
    assert (audit.rows_missing, audit.rows_repeated, audit.rows_unknown) == (0, 80, 0)
    assert [worker.rows for worker in audit.workers] == [40, 40, 40]


def test_a_function_that_shards_passes(tensorflow: Any):
    tf = tensorflow

    def make(input_context: Any) -> Any:
        dataset = tf.data.Dataset.range(40)
        dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        return dataset.shuffle(40).batch(8)

    assert audit_sharding(from_function(make), 2).ok


def test_an_unseeded_shuffle_before_the_shard_loses_and_repeats_rows(tensorflow: Any):
    """TensorFlow does not warn: each worker reads every other row of its own order."""
    tf = tensorflow

    def make(input_context: Any) -> Any:
        dataset = tf.data.Dataset.range(40).shuffle(40)
        return dataset.shard(
            input_context.num_input_pipelines, input_context.input_pipeline_id
        ).batch(8)

    audit = audit_sharding(from_function(make), 2)
    assert not audit.ok
    assert audit.rows_missing == audit.rows_repeated > 0
    assert audit.rows_unknown == 0


def test_workers_that_end_at_different_steps_are_found(tensorflow: Any):
    tf = tensorflow

    def make(input_context: Any) -> Any:
        dataset = tf.data.Dataset.range(9).batch(2)
        return dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)

    audit = audit_sharding(from_function(make), 2)
    assert (audit.rows_missing, audit.rows_repeated) == (0, 0)
    assert [worker.steps for worker in audit.workers] == [3, 2]
    assert not audit.steps_agree
    assert not audit.ok
    assert audit_sharding(from_function(make), 2, replicas=None).ok


def test_rows_that_differ_between_workers_are_unknown(tensorflow: Any):
    tf = tensorflow

    def make(input_context: Any) -> Any:
        start = 100 * (input_context.num_input_pipelines - 1)
        return tf.data.Dataset.range(start, start + 4).batch(2)

    audit = audit_sharding(from_function(make), 2)
    assert (audit.rows_missing, audit.rows_repeated, audit.rows_unknown) == (4, 0, 8)


def test_duplicate_rows_are_counted_twice(tensorflow: Any):
    tf = tensorflow

    def make(input_context: Any) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices([1, 1, 2, 2, 3, 3])
        if input_context.num_input_pipelines > 1:
            # Worker 0 reads only one 1; worker 1 reads a third 3.
            parts = [[1, 2, 2], [3, 3, 3]]
            dataset = tf.data.Dataset.from_tensor_slices(parts[input_context.input_pipeline_id])
        return dataset.batch(3)

    audit = audit_sharding(from_function(make), 2)
    assert (audit.rows_missing, audit.rows_repeated, audit.rows_unknown) == (1, 1, 0)


@pytest.mark.parametrize("make_endless", ["repeat", "generator"])
def test_an_input_without_end_is_refused(
    make_endless: str, tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    tf = tensorflow
    monkeypatch.setattr("tfdistribute.inputs.sharding_audit.MOST_ROWS", 100)
    if make_endless == "repeat":
        source = from_function(lambda: tf.data.Dataset.range(4).repeat().batch(2))
    else:
        source = from_function(
            lambda: tf.data.Dataset.range(4).repeat().filter(lambda value: value >= 0).batch(2)
        )
    with pytest.raises(InputError, match="does not end"):
        audit_sharding(source, 2)


def test_strings_sparse_and_ragged_values_are_recognised(tensorflow: Any):
    tf = tensorflow

    def make(input_context: Any) -> Any:
        def features(index: Any) -> Any:
            word = tf.strings.as_string(index)
            return {
                "text": word,
                "sparse": tf.sparse.from_dense([index, 0, index + 1]),
                "ragged": tf.RaggedTensor.from_row_lengths(
                    [index, index, index], [index % 3, 3 - index % 3]
                ),
            }, tf.cast(index, tf.float32)

        dataset = tf.data.Dataset.range(10)
        return (
            dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
            .map(features)
            .batch(2)
        )

    assert audit_sharding(from_function(make), 5).ok


def test_hashes_of_rows_differ_and_do_not_depend_on_the_batch():
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 3, (500, 3)).astype(np.float32)
    words = np.array([b"a", b"b"], object)[rng.integers(0, 2, 500)]
    hashes = hash_rows([numbers, words])
    keys = [(*row, word) for row, word in zip(numbers.tolist(), words.tolist(), strict=True)]
    assert (
        len(set(hashes.tolist()))
        == len(set(keys))
        == len(set(zip(hashes.tolist(), keys, strict=True)))
    )
    parts = [hash_rows([numbers[:7], words[:7]]), hash_rows([numbers[7:], words[7:]])]
    assert np.array_equal(np.concatenate(parts), hashes)
    assert not np.array_equal(hash_rows([numbers[:, ::-1].copy(), words]), hashes)
