"""Predicted speeds, compared with times that follow from one cost each."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute.plan.speed import Cost, Machines, Network, Prediction, Speed, best

SIZE = 10_000_000
OWN_MACHINES = Machines(4, ("a", "b", "c", "d"))
# So fast that only what a test slows down counts.
FAST = Network(0.0, 1e15)


def speed(
    workers: int, pair_s: float, exchange_s: float = 0.0, size: int = SIZE, **fields: Any
) -> Speed:
    """Predict from a step that takes 2 ms and 1 ms per example, and ``pair_s`` for two workers."""
    costs = (
        Cost(128, 0.130, 0.130, size),
        Cost(16, 0.018, 0.018, size),
        Cost(128, pair_s, 0.066 + exchange_s, size),
    )
    settings = {"machines": OWN_MACHINES, "network": FAST, **fields}
    return Prediction(costs, **settings).speed(workers)


def test_one_worker_takes_the_step_that_was_measured():
    found = speed(1, pair_s=0.07)
    assert found.step_s == pytest.approx(0.130)
    assert found.examples_per_second == pytest.approx(128 / 0.130)


def test_two_workers_take_the_step_that_was_measured():
    assert speed(2, pair_s=0.09).examples_per_second == pytest.approx(128 / 0.09)


def test_workers_share_the_examples_and_not_the_rest_of_a_step():
    assert speed(4, pair_s=0.07).computation_s == pytest.approx(0.002 + 32 * 0.001)


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_a_slow_network_takes_the_time_of_the_bytes_of_a_ring(workers: int):
    found = speed(workers, pair_s=10.0, network=Network(0.0, 1e6))
    assert found.limit == "bandwidth"
    assert found.step_s == pytest.approx(2 * (workers - 1) / workers * 10, rel=0.02)


def test_every_further_worker_adds_two_messages_to_the_end_of_a_step():
    # Two workers wait for two messages of 50 ms.
    found = [speed(n, pair_s=0.166, size=0, network=Network(0.1, 1e15)) for n in (64, 128)]
    assert found[1].step_s - found[0].step_s == pytest.approx(2 * 64 * 0.05, rel=0.02)
    assert {each.limit for each in found} == {"latency"}


@pytest.mark.parametrize(
    ("workers", "places", "tasks"), [(4, "aaaa", 4), (4, "abab", 2), (3, "aaab", 3)]
)
def test_workers_on_one_machine_share_its_cores(workers: int, places: str, tasks: int):
    # Two workers on one core take twice as long as each alone.
    pair_s = 0.132 if places[:2] == "aa" else 0.066
    found = speed(workers, pair_s, size=0, machines=Machines(1, tuple(places)))
    assert found.limit == "cores"
    assert found.step_s == pytest.approx(tasks * (0.002 + 0.128 / workers), rel=0.02)


def test_further_workers_are_on_further_machines_unless_there_are_none():
    assert [OWN_MACHINES.tasks(n) for n in (1, 4, 8, 512)] == [1, 1, 1, 1]
    assert [Machines(2, ("a",), are_all=True).tasks(n) for n in (1, 4, 8)] == [1, 4, 8]
    assert [Machines(2, ("a", "a", "b")).tasks(n) for n in (1, 2, 3, 4)] == [1, 2, 2, 2]


def test_the_exchange_of_two_workers_grows_with_what_each_of_more_workers_reads():
    here = Machines(16, ("a",), are_all=True)
    shared = speed(4, 0.070, exchange_s=0.004, machines=here, network=None)
    assert shared.step_s == pytest.approx(0.034 + 2 * 0.004)
    messages = speed(4, 0.0702, exchange_s=0.004, size=1, machines=here)
    assert messages.step_s == pytest.approx(0.034 + 1.5 * 0.004, rel=0.03)


def test_parameter_servers_serve_whole_batches_until_their_network_is_full():
    network = Network(0.0, 1e8)
    found = [speed(n, pair_s=0.2, servers=2, network=network) for n in (1, 2, 512)]
    # A worker sends and receives all variables in a step, and two servers have twice the bandwidth of a worker.
    assert found[1].examples_per_second == pytest.approx(2 * found[0].examples_per_second)
    assert found[2].examples_per_second == pytest.approx(2 * 1e8 / SIZE * 128)
    assert found[2].limit == "servers"


def test_the_table_ends_with_the_examples_of_a_batch_and_has_the_workers_of_the_cluster():
    costs = (Cost(128, 0.1, 0.1, SIZE), Cost(16, 0.1, 0.1, SIZE), Cost(128, 0.1, 0.1, SIZE))
    prediction = Prediction(costs, OWN_MACHINES, FAST)
    assert [each.workers for each in prediction.speeds(3)] == [1, 2, 3, 4, 8, 16, 32, 64, 128]


def test_workers_pay_as_long_as_twice_as_many_are_faster():
    def speeds(*rates: float) -> list[Speed]:
        return [Speed(2**i, rate, 1.0, 1.0, "latency") for i, rate in enumerate(rates)]

    assert best(speeds(100, 190, 350, 360, 340)).workers == 4
    assert best(speeds(100, 90)).workers == 1
    assert best(speeds(100, 190, 370)).workers == 4
