"""Number of steps of a run: decided by one process, or by all tasks of a cluster.

Tasks that sum gradients must take the same number of steps in a run, so each proposes a number and the minimum is
taken.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import collective_util, reduce_util

# Proposed by a task that must take one step per run for the rest of the training.
NEVER = -1

# Maximum number of steps between two agreements.
_MOST_STEPS_APART = 64


class LocalDecision:
    def prepare(self) -> None: ...

    def is_due(self) -> bool:
        return True

    def agree(self, session: Any, steps: int) -> int:
        return steps


class CollectiveConsensus:
    """The decision of tasks that take the same steps.

    All tasks agree after the same steps, because each knows the results of all earlier agreements. ``strategy`` is
    made for this task, ``position`` counts from 0, and ``before_run`` gets the number of steps.
    """

    def __init__(
        self, strategy: Any, position: int, tasks: int, before_run: Callable[[int], Any]
    ) -> None:
        self._strategy = strategy
        self._position = position
        self._tasks = tasks
        self._before_run = before_run
        self._is_over = False
        self._refusals = 0
        self._steps_until_due = 1

    def prepare(self) -> None:
        """Add the collective operation to the graph, in every task."""
        self._proposal = tf.compat.v1.placeholder(tf.int32, [], "steps_of_this_task")
        own = tf.one_hot(self._position, self._tasks, dtype=tf.int32) * self._proposal
        # On the host, even if gradients are summed on GPUs.
        between = self._strategy.extended._host_cross_device_ops
        ring = collective_util.CommunicationImplementation.RING
        proposals = between.reduce(
            reduce_util.ReduceOp.SUM,
            own,
            destinations=own,
            options=collective_util.Options(implementation=ring),
        )
        (proposals,) = self._strategy.experimental_local_results(proposals)
        self._least = tf.reduce_min(proposals)

    def is_due(self) -> bool:
        """Return whether the tasks agree on a run after this step; called once after each step."""
        if self._is_over:
            return False
        self._steps_until_due -= 1
        return self._steps_until_due <= 0

    def agree(self, session: Any, steps: int) -> int:
        """Wait until all tasks have proposed a number of steps, and return the minimum.

        A task proposes 0 for none now, and ``NEVER`` for none at any time. ``tf.errors.OpError`` if one is gone.
        """
        least = int(session.run(self._least, {self._proposal: steps}))
        self._is_over = least == NEVER
        self._refusals = 0 if least > 0 else self._refusals + 1
        self._steps_until_due = min(2 ** max(0, self._refusals - 1), _MOST_STEPS_APART)
        if least > 0:
            self._before_run(least)
        return least
