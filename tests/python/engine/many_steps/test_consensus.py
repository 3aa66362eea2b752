"""How many steps the tasks of a cluster take in a run: the least that one of them says, and when they ask again."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.many_steps.consensus import NEVER, Alone, Together

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


class Others:
    """A strategy over three tasks, of which two only say what a test lets them say."""

    def __init__(self) -> None:
        # The one before this task, and the one after it.
        self.say = [0, 0]
        between = SimpleNamespace(reduce=self.reduce)
        self.extended = SimpleNamespace(_host_cross_device_ops=between)

    def reduce(self, how: Any, mine: Any, destinations: Any, options: Any) -> Any:
        assert how.name == "SUM"
        # NCCL would need GPUs.
        assert options.implementation.name == "RING"
        assert destinations is mine

        def said() -> Any:
            return np.array([self.say[0], 0, self.say[1]], np.int32)

        return mine + tf.reshape(tf.numpy_function(said, [], tf.int32), [3])

    def experimental_local_results(self, value: Any) -> tuple[Any]:
        return (value,)


@pytest.fixture
def others() -> Others:
    return Others()


@pytest.fixture
def begun() -> list[int]:
    """The steps of the runs that were agreed on."""
    return []


@pytest.fixture
def settle(others: Others, begun: list[int]) -> Any:
    """Let the task in the middle say a number while the others say theirs; also the decision itself."""
    with tf.Graph().as_default() as graph:
        decision = Together(others, 1, 3, begun.append)
        decision.prepare()
        with v1.Session(graph=graph) as session:

            def settled(before: int, own: int, after: int) -> int:
                others.say = [before, after]
                return decision.settle(session, own)

            yield SimpleNamespace(of=settled, is_due=decision.is_due)


def steps_until_due(is_due: Callable[[], bool]) -> int:
    steps = 1
    while not is_due():
        steps += 1
    return steps


def test_the_least_that_a_task_says_counts(settle: Any, begun: list[int]):
    said = [(7, 3, 9), (2, 5, 4), (8, 6, 1), (4096, 4096, 4096), (0, 5, 5), (5, 5, 0)]
    assert [settle.of(*steps) for steps in said] == [min(steps) for steps in said]
    assert begun == [3, 2, 1, 4096]


def test_after_refusals_tasks_ask_less_often_and_after_a_run_at_once(settle: Any):
    def waited() -> int:
        steps = steps_until_due(settle.is_due)
        settle.of(5, 0, 5)
        return steps

    assert [waited() for _ in range(11)] == [1, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64]
    assert steps_until_due(settle.is_due) == 64
    settle.of(5, 5, 5)
    assert steps_until_due(settle.is_due) == 1
    settle.of(0, 5, 5)
    assert [waited() for _ in range(3)] == [1, 2, 4]


@pytest.mark.parametrize("said", [(NEVER, 5, 0), (5, NEVER, 5), (0, 5, NEVER)])
def test_a_task_that_never_takes_several_ends_the_asking(
    settle: Any, begun: list[int], said: tuple[int, int, int]
):
    assert settle.is_due()
    assert settle.of(*said) == NEVER
    assert not any(settle.is_due() for _ in range(200))
    assert begun == []


def test_a_process_alone_takes_what_it_says_after_each_step():
    alone = Alone()
    alone.prepare()
    for steps in (3, 0, NEVER, 8):
        assert alone.is_due()
        assert alone.settle(None, steps) == steps
