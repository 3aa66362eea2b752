"""How many steps are taken in a run: by a process alone, or by all tasks of a cluster together.

Tasks that sum their gradients in every step must take the same steps in a run, or they wait for each other for ever.
But each looks at its own hooks and its own clock. So each says how many steps it could take, and the least counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import collective_util, reduce_util

# What a task says that has a reason to take one step per run for good.
NEVER = -1

# Steps, at most, until a task whose steps are too slow, or too few so far, is asked again.
_MOST_WAITED = 64


class Alone:
    """A process that asks nobody."""

    def prepare(self) -> None:
        """Do nothing."""

    def is_due(self) -> bool:
        """Say that a run may follow each step."""
        return True

    def settle(self, session: Any, steps: int) -> int:
        """Say how many steps to take.

        Args:
            session: Not needed.
            steps: How many could be taken; ``NEVER`` or 0 for none.

        Returns:
            The same.
        """
        del session
        return steps


class Together:
    """A task among others that take the same steps. Each asks after the same steps, since each heard the same answers.

    Args:
        strategy: The ``tf.distribute.MultiWorkerMirroredStrategy`` of the training, made for this task.
        position: Which of the tasks this is, from 0.
        tasks: How many they are.
        before_run: Told the steps of a run that all have agreed on.
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
        """Add what the tasks agree by to the graph, which can still grow; every task must."""
        self._own = tf.compat.v1.placeholder(tf.int32, [], "steps_of_this_task")
        mine = tf.one_hot(self._position, self._tasks, dtype=tf.int32) * self._own
        # On the host also where gradients are summed on GPUs.
        between = self._strategy.extended._host_cross_device_ops
        ring = collective_util.CommunicationImplementation.RING
        all_said = between.reduce(
            reduce_util.ReduceOp.SUM,
            mine,
            destinations=mine,
            options=collective_util.Options(implementation=ring),
        )
        (all_said,) = self._strategy.experimental_local_results(all_said)
        self._least = tf.reduce_min(all_said)

    def is_due(self) -> bool:
        """Say whether the tasks agree on a run after this step; to be asked once after each."""
        if self._is_over:
            return False
        self._steps_until_due -= 1
        return self._steps_until_due <= 0

    def settle(self, session: Any, steps: int) -> int:
        """Agree with the other tasks on how many steps to take.

        Args:
            session: The session; it waits until all tasks have asked.
            steps: How many this task could take; 0 for none now, ``NEVER`` for none at any time.

        Returns:
            Steps, 0 for none, ``NEVER`` where a task said so; the same in all tasks.

        Raises:
            tf.errors.OpError: another task is gone.
        """
        least = int(session.run(self._least, {self._own: steps}))
        self._is_over = least == NEVER
        self._refusals = 0 if least > 0 else self._refusals + 1
        self._steps_until_due = min(2 ** max(0, self._refusals - 1), _MOST_WAITED)
        if least > 0:
            self._before_run(least)
        return least
