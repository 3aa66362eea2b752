"""Exchange of the states of metrics between processes that each evaluate a shard of the rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

# What one process has added to each state, by the name of its variable.
States = dict[str, np.ndarray[Any, Any]]


class AddStates(tf.estimator.SessionRunHook):
    """Adds the states of metrics over processes.

    Estimator reads the metrics after the last hook has ended. ``exchange`` returns None to keep this process's own
    states.
    """

    def __init__(
        self, variables: Sequence[Any], exchange: Callable[[States], States | None]
    ) -> None:
        self._variables = {variable.op.name: variable for variable in variables}
        self._exchange = exchange

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._initial: States = session.run(self._variables)

    def end(self, session: Any) -> None:
        states = session.run(self._variables)
        added = {name: states[name] - self._initial[name] for name in states}
        of_all = self._exchange(added)
        if of_all is not None:
            for name, variable in self._variables.items():
                variable.load(self._initial[name] + of_all[name], session)
