"""Agreement of a cluster's tasks on the steps per run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.step.consensus import NEVER, CollectiveConsensus, LocalDecision

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


class Others:
    """A strategy over three tasks, two of which propose what the test sets."""

    def __init__(self) -> None:
        # Proposals of the previous and the next task.
        self.proposals = [0, 0]
        between = SimpleNamespace(reduce=self.reduce)
        self.extended = SimpleNamespace(_host_cross_device_ops=between)

    def reduce(self, how: Any, mine: Any, destinations: Any, options: Any) -> Any:
        assert how.name == "SUM"
        # NCCL would need GPUs.
        assert options.implementation.name == "RING"
        assert destinations is mine

        def proposed() -> Any:
            return np.array([self.proposals[0], 0, self.proposals[1]], np.int32)

        return mine + tf.reshape(tf.numpy_function(proposed, [], tf.int32), [3])

    def experimental_local_results(self, value: Any) -> tuple[Any]:
        return (value,)


@pytest.fixture
def others() -> Others:
    return Others()


@pytest.fixture
def begun() -> list[int]:
    """Steps of the runs that were agreed on."""
    return []


@pytest.fixture
def agreement(others: Others, begun: list[int]) -> Any:
    """Agree with the proposals of all three tasks; also return whether another agreement is due."""
    with tf.Graph().as_default() as graph:
        consensus = CollectiveConsensus(others, 1, 3, begun.append)
        consensus.prepare()
        with v1.Session(graph=graph) as session:

            def agree(before: int, own: int, after: int) -> int:
                others.proposals = [before, after]
                return consensus.agree(session, own)

            yield SimpleNamespace(of=agree, is_due=consensus.is_due)


def steps_until_due(is_due: Callable[[], bool]) -> int:
    steps = 1
    while not is_due():
        steps += 1
    return steps


def test_tasks_agree_on_the_least_proposal(agreement: Any, begun: list[int]):
    proposals = [(7, 3, 9), (2, 5, 4), (8, 6, 1), (4096, 4096, 4096), (0, 5, 5), (5, 5, 0)]
    assert [agreement.of(*steps) for steps in proposals] == [min(steps) for steps in proposals]
    assert begun == [3, 2, 1, 4096]


def test_after_refusals_tasks_agree_less_often_and_after_a_run_at_once(agreement: Any):
    def waited() -> int:
        steps = steps_until_due(agreement.is_due)
        agreement.of(5, 0, 5)
        return steps

    assert [waited() for _ in range(11)] == [1, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64]
    assert steps_until_due(agreement.is_due) == 64
    agreement.of(5, 5, 5)
    assert steps_until_due(agreement.is_due) == 1
    agreement.of(0, 5, 5)
    assert [waited() for _ in range(3)] == [1, 2, 4]


@pytest.mark.parametrize("proposals", [(NEVER, 5, 0), (5, NEVER, 5), (0, 5, NEVER)])
def test_a_task_that_can_never_take_several_ends_the_agreements(
    agreement: Any, begun: list[int], proposals: tuple[int, int, int]
):
    assert agreement.is_due()
    assert agreement.of(*proposals) == NEVER
    assert not any(agreement.is_due() for _ in range(200))
    assert begun == []


def test_a_process_alone_takes_what_it_proposes_after_each_step():
    alone = LocalDecision()
    alone.prepare()
    for steps in (3, 0, NEVER, 8):
        assert alone.is_due()
        assert alone.agree(None, steps) == steps
