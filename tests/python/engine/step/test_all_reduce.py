"""Sums over workers in the graph of a step, and what replaces them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tfdistribute import engine
from tfdistribute.engine.step.program import StepProgram

WORKERS = 2
VALUES = [np.arange(6, dtype="float32").reshape(2, 3), np.float32(2.5), np.ones(40000, "float32")]

pytestmark = pytest.mark.versions


class Worker:
    """A graph whose step sums gradients, as TensorFlow's strategy does, and then a loss."""

    def __init__(self, rank: int) -> None:
        from tensorflow.python.distribute import collective_util, cross_device_utils

        tf = engine.tf
        self.rank = rank
        self.graph = tf.Graph()
        self.sums = engine.step.all_reduce.AllReduce(rank, WORKERS, True, False)
        with self.graph.as_default():
            keys, device = cross_device_utils.CollectiveKeys(), "/device:CPU:0"
            launcher = cross_device_utils.CollectiveReplicaLauncher(
                keys.get_group_key([device]), WORKERS, keys, device, collective_util.Options()
            )
            self.scale = tf.Variable(float(rank + 1), use_resource=True)
            parts = [tf.constant(value) * self.scale for value in VALUES]
            self.gradients = launcher.batch_all_reduce([parts[:2], parts[2:]])
            (total,) = launcher.batch_all_reduce([[tf.reduce_sum(self.gradients[2])]])
            self.loss = total / WORKERS
            # It needs no other sum.
            (self.weight,) = launcher.batch_all_reduce([[3 * self.scale]])
            with tf.control_dependencies([*self.gradients[::2], self.loss, self.weight]):
                self.train_op = self.scale.assign_add(1.0).op

    def types(self) -> list[str]:
        """Types of the operations that a step runs."""
        found: set[Any] = set()
        waiting = [self.train_op, self.loss.op]
        while waiting:
            operation = waiting.pop()
            if operation not in found:
                found.add(operation)
                waiting += [*(each.op for each in operation.inputs), *operation.control_inputs]
        return sorted(each.type for each in found)

    def train(self, steps: int) -> list[Any]:
        with engine.tf.compat.v1.Session(graph=self.graph) as session:
            session.run(self.scale.initializer)
            fetched = [*self.gradients, self.weight, self.loss, self.train_op]
            return [session.run(fetched)[:-1] for _ in range(steps)]

    def prepare(self, sockets: list[str]) -> None:
        self.sums.run(StepProgram(self.train_op, self.loss), sockets)


def at_once(made: list[Worker], action: Callable[[Worker], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(made)) as pool:
        return [each.result(60) for each in [pool.submit(action, worker) for worker in made]]


@pytest.fixture
def workers(tensorflow: ModuleType) -> Iterator[list[Worker]]:
    made = [Worker(rank) for rank in range(WORKERS)]
    yield made
    for worker in made:
        worker.sums.close()


def prepare_all(workers: list[Worker]) -> None:
    sockets = [worker.sums.socket for worker in workers]
    at_once(workers, lambda worker: worker.prepare(sockets))


def test_all_sums_of_a_step_are_made_in_shared_memory(workers: list[Worker]) -> None:
    assert workers[0].types().count("CollectiveReduceV2") == 4
    prepare_all(workers)
    types = workers[0].types()
    # Two packs of gradients, which are too large to be joined, and the loss with the weight: written and read.
    assert types.count("PyFunc") == 6
    # Nothing is joined, sent or split any more.
    assert not {"CollectiveReduceV2", "ConcatV2", "SplitV"} & set(types)

    results = at_once(workers, lambda worker: worker.train(3))
    for step in range(3):
        # The scales of both workers grow by one per step.
        scale = np.float32(3 + 2 * step)
        for result in results:
            *gradients, weight, loss = result[step]
            for value, gradient in zip(VALUES, gradients, strict=True):
                assert gradient.shape == np.shape(value)
                np.testing.assert_array_equal(gradient, value * scale)
            assert loss == VALUES[2].sum() * scale
            assert weight == 3 * scale


def test_one_sum_at_a_time_waits_for_other_workers(workers: list[Worker]) -> None:
    prepare_all(workers)
    reads = [
        each
        for each in workers[0].graph.get_operations()
        if each.type == "PyFunc" and not each.inputs
    ]
    assert len(reads) == 3
    for before, after in itertools.pairwise(reads):
        assert before in after.control_inputs


def test_a_worker_is_told_that_another_has_ended(workers: list[Worker]) -> None:
    prepare_all(workers)
    workers[1].sums.close()
    with pytest.raises(engine.tf.errors.OpError, match=engine.collectives.BROKEN):
        workers[0].train(1)


def test_large_sums_are_compressed_for_the_network(tensorflow: ModuleType) -> None:
    worker = Worker(0)
    compressing = engine.step.all_reduce.AllReduce(0, WORKERS, False, True)
    assert (compressing.domain, compressing.socket) == (None, None)
    compressing.run(StepProgram(worker.train_op, worker.loss), [])
    sent = {
        tuple(each.inputs[0].shape): each.inputs[0].dtype.name
        for each in worker.graph.get_operations()
        if each.type == "CollectiveReduceV2" and each.outputs[0].consumers()
    }
    assert sent == {(7,): "float32", (40000,): "bfloat16", (1,): "float32"}
    assert worker.gradients[2].dtype == tensorflow.float32


def test_a_sum_that_is_split_in_another_way_stays_whole(tensorflow: ModuleType) -> None:
    tf = tensorflow
    with tf.Graph().as_default():
        summed = tf.raw_ops.CollectiveReduceV2(
            input=tf.concat([tf.ones([3]), tf.ones([5])], 0),
            group_size=WORKERS,
            group_key=1,
            instance_key=1,
            ordering_token=[],
            merge_op="Add",
            final_op="Id",
        )
        for sizes, parts in (([4, 4], 1), ([3, 5], 2)):
            halves = tf.split(summed, sizes)
            (found,) = engine.step.all_reduce.sums_of_step(halves, WORKERS)
            assert len(found.inputs) == len(found.outputs) == parts
            for half in halves:
                half.op._update_input(0, tf.zeros([8]))


def test_sums_that_cannot_be_shared_are_left_to_tensorflow(tensorflow: ModuleType) -> None:
    tf = tensorflow
    worker = Worker(0)
    with worker.graph.as_default():
        values = {
            "half": tf.ones([4], tf.float16),
            "unknown": tf.compat.v1.placeholder(tf.float32, [None]),
            "known": tf.ones([4]),
        }
        summed = {
            name: tf.raw_ops.CollectiveReduceV2(
                input=value,
                group_size=3 if name == "others" else WORKERS,
                group_key=1,
                instance_key=100,
                ordering_token=[],
                merge_op="Add",
                final_op="Id",
                name=name,
            )
            for name, value in {**values, "others": values["known"]}.items()
        }
    found = engine.step.all_reduce.sums_of_step(list(summed.values()), WORKERS)
    assert [each.operation.name for each in found] == ["known"]
