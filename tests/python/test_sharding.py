"""Sharding of batches over replicas and workers, and the order of rows."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from tfdistribute.errors import InputError, ShardingError
from tfdistribute.sharding import (
    BatchPlan,
    RangePlan,
    RowOrder,
    Shard,
    epoch_order,
    replica_batch_size,
    split,
)


def batches_of(plan: BatchPlan, at_once: int = 5) -> list[list[int]]:
    return [batch.tolist() for chunk in plan.chunks(at_once) for batch in chunk]


def shards(pipelines: int, replicas: int) -> list[Shard]:
    return [Shard(pipelines, pipeline, replicas) for pipeline in range(pipelines)]


def expected_steps(examples: int, global_batch_size: int, replicas: int) -> list[list[list[int]]]:
    """The steps by definition: cut the stream, cut each step into slices, and fill empty ones with its rows in turn."""
    stream = list(range(examples))
    steps = [
        stream[start : start + global_batch_size] for start in range(0, examples, global_batch_size)
    ]
    return [
        [
            part.tolist() or [step[replica % len(step)]]
            for replica, part in enumerate(np.array_split(step, replicas))
        ]
        for step in steps
    ]


@pytest.mark.parametrize(
    ("global_batch_size", "replicas", "remedy"),
    [(10, 4, "Use 8 or 12."), (3, 4, "Use 4."), (9, 2, "Use 8 or 10."), (1, 2, "Use 2.")],
)
def test_a_batch_that_does_not_divide_is_refused_with_the_next_sizes(
    global_batch_size: int, replicas: int, remedy: str
):
    with pytest.raises(ShardingError) as caught:
        replica_batch_size(global_batch_size, replicas)
    assert f"over {replicas} replicas" in caught.value.problem
    assert caught.value.remedy == remedy
    assert caught.value.argument == "batch_size"


def test_the_error_has_this_text():
    with pytest.raises(ShardingError) as caught:
        BatchPlan(100, 1, 10, Shard(replicas=4))
    assert (
        str(caught.value)
        == "A batch of 10 examples cannot be split evenly over 4 replicas.\nUse 8 or 12."
    )


def test_parts_are_nearly_equal_and_complete():
    for examples, parts in itertools.product(range(20), range(1, 6)):
        sizes = split(examples, parts)
        assert sum(sizes) == examples
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 16, 17, 40, 53, 56, 97])
@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize(("pipelines", "replicas"), [(1, 1), (1, 2), (2, 2), (2, 4), (1, 4)])
@pytest.mark.parametrize("global_batch_size", [4, 8, 64])
def test_every_step_gives_each_replica_one_batch_of_the_step_of_one_device(
    rows: int, epochs: int, pipelines: int, replicas: int, global_batch_size: int
):
    plans = [
        BatchPlan(rows, epochs, global_batch_size, shard) for shard in shards(pipelines, replicas)
    ]
    own = replicas // pipelines
    pipeline_batches = [batches_of(plan) for plan in plans]
    assert len({len(batches) for batches in pipeline_batches}) == 1
    steps = [
        [batch for batches in pipeline_batches for batch in batches[first : first + own]]
        for first in range(0, len(pipeline_batches[0]), own)
    ]
    assert steps == expected_steps(rows * epochs, global_batch_size, replicas)


def test_ranges_of_fewer_rows_than_workers_are_refused():
    with pytest.raises(InputError) as caught:
        RangePlan(1, 1, 8, Shard(2, 0, 2))
    assert (
        str(caught.value)
        == "1 example cannot be split over 2 workers.\nUse at least 2 rows, or at most 1 worker."
    )


@pytest.mark.parametrize(("pipelines", "own"), [(1, 2), (1, 4), (2, 1), (2, 2)])
@pytest.mark.parametrize("left", range(1, 8))
def test_a_replica_without_rows_repeats_a_row_of_its_step_and_counts_none(
    pipelines: int, own: int, left: int
):
    replicas, read = pipelines * own, list[int]()
    for shard in shards(pipelines, replicas):
        plan = BatchPlan(16 + left, 1, 8, shard)
        assert plan.steps == 3
        for batch, rows in zip(batches_of(plan)[2 * own :], plan.last_batches, strict=True):
            assert len(batch) == max(rows, 1)
            assert set(batch) <= set(range(16, 16 + left))
            read += batch[:rows]
        scales = (1.0,) * own if plan.uneven_step is None else plan.uneven_step[1]
        np.testing.assert_allclose(scales, np.array(plan.last_batches) * replicas / left)
    assert read == list(range(16, 16 + left))


def test_workers_out_of_step_take_whole_batches_in_turns():
    first, second = (batches_of(BatchPlan(50, 1, 8, shard)) for shard in shards(2, 1))
    assert first == [list(range(start, start + 8)) for start in (0, 16, 32)] + [[48, 49]]
    assert second == [list(range(start, start + 8)) for start in (8, 24, 40)]


def test_the_chunk_size_changes_nothing():
    plan = BatchPlan(53, 2, 8, Shard(2, 1, 4))
    assert batches_of(plan, 1) == batches_of(plan, 3) == batches_of(plan, 1000)


@pytest.mark.parametrize(
    "shard", [Shard(), Shard(2, 1, 4), Shard(1, 0, 4), Shard(3, 0, 1), Shard(3, 2, 1)]
)
def test_a_plan_without_its_first_batches_has_all_others(shard: Shard):
    for rows in (50, 53, 56):
        batches, own = batches_of(BatchPlan(rows, 1, 8, shard)), len(shard.own_replicas)
        turns = shard.pipelines if shard.in_turns else 1
        for steps, at_once in itertools.product(range(9), (1, 3, 100)):
            read = steps * turns * 8
            plan = BatchPlan(rows, 1, 8, shard, read, read)
            assert batches_of(plan, at_once) == batches[steps * own :]


def test_batches_that_are_left_out_take_no_time():
    chunk = next(BatchPlan(5, None, 4, first=4 * 10**15, done=4 * 10**15).chunks(1))
    assert chunk.tolist() == [[4 * 10**15 + place for place in range(4)]]


def test_an_endless_plan_runs_on_across_epochs():
    chunks = BatchPlan(5, None, 4).chunks(2)
    assert [next(chunks).tolist() for _ in range(2)] == [
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        [[8, 9, 10, 11], [12, 13, 14, 15]],
    ]


def test_replicas_that_do_not_divide_over_the_workers_are_refused():
    context = SimpleNamespace(num_input_pipelines=2, input_pipeline_id=0, num_replicas_in_sync=3)
    with pytest.raises(ShardingError, match="3 replicas cannot be divided evenly over 2 workers"):
        Shard.of(context)


def test_each_epoch_has_every_row_once_in_an_order_of_its_own():
    orders = [epoch_order(40, 7, epoch).tolist() for epoch in range(3)]
    assert all(sorted(order) == list(range(40)) for order in orders)
    assert len({tuple(order) for order in [*orders, range(40)]}) == 4


@pytest.mark.parametrize("seed", [0, 1, -1, 2**31 - 1])
def test_the_same_seed_gives_the_same_order_and_another_another(seed: int):
    assert epoch_order(40, seed, 0).tolist() == epoch_order(40, seed, 0).tolist()
    assert epoch_order(40, seed, 0).tolist() != epoch_order(40, seed + 1, 0).tolist()


@pytest.mark.parametrize("seed", [None, 3])
def test_positions_that_span_epochs_find_the_rows_of_each(seed: int | None):
    epochs = [epoch_order(3, seed, e) if seed is not None else np.arange(3) for e in range(4)]
    stream = np.concatenate(epochs)
    found = RowOrder(3, seed).at(np.arange(12).reshape(3, 4))
    assert found.tolist() == stream.reshape(3, 4).tolist()


def test_two_workers_share_the_rows_of_every_epoch_without_overlap():
    """An unseeded shuffle before sharding would read some rows twice and others never."""
    seen: list[list[int]] = []
    for shard in shards(2, 2):
        order = RowOrder(40, 5)
        seen.append(
            [
                int(row)
                for chunk in BatchPlan(40, 2, 8, shard).chunks(4)
                for row in order.at(chunk).ravel()
            ]
        )
    for epoch in range(2):
        first, second = (set(rows[epoch * 20 : (epoch + 1) * 20]) for rows in seen)
        assert not first & second
        assert first | second == set(range(40))
    assert seen[0][:20] != seen[0][20:]


def test_the_end_of_the_data_is_the_same_step_however_rows_are_shared():
    for rows, epochs, pipelines, own in itertools.product(
        range(4, 26), (1, 2, 3), (1, 2, 3), (1, 2)
    ):
        replicas = pipelines * own
        for batch in (replicas, 2 * replicas, 3 * replicas):
            steps = BatchPlan(rows, epochs, batch, Shard(pipelines, 0, replicas)).steps
            for pipeline in range(pipelines if replicas > 1 else 1):
                shard = Shard(pipelines, pipeline, replicas)
                ranges = RangePlan(rows, epochs, batch, shard)
                assert steps == (ranges.full_steps or 0) + bool(ranges.last_batches)
                slices = BatchPlan(rows, epochs, batch, shard).chunks(own)
                assert steps == sum(len(chunk) for chunk in slices) / own
