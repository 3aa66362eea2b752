"""The thread-local state of a graph, as a value that can be swapped.

Scopes, devices, control dependencies, variable creators and the current replica are thread-local. Replicas that share
one thread swap these values, because each must begin with an empty state.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tensorflow.python.distribute import distribute_utils
from tensorflow.python.framework import ops
from tensorflow.python.ops import summary_ops_v2, variable_scope


class GraphState:
    """The state of one graph for one thread, which need not exist.

    ``graph`` must have called ``switch_to_thread_local()``; ``graph_local`` are its attributes. ``inherited`` are the
    states that replicas inherit from the calling thread.
    """

    def __init__(
        self,
        graph: ops.Graph,
        graph_local: threading.local,
        variable_scopes: dict[str, Any],
        inherited: list[dict[str, Any]],
    ) -> None:
        self._graph = graph
        self._graph_local = graph_local
        self._variable_scopes = variable_scopes
        self._inherited = inherited

    @classmethod
    def current(cls, graph: ops.Graph) -> GraphState:
        """Copy the state of the calling thread; scopes that are entered later do not change the copy."""
        return cls(
            graph,
            graph._thread_local,
            dict(variable_scope.get_variable_scope_store().__dict__),
            [dict(local.__dict__) for local in _inherited_locals()],
        )

    @classmethod
    def of_new_thread(cls, graph: ops.Graph) -> GraphState:
        """Make the initial state of a replica's own thread, as ``_MirroredReplicaThread`` in mirrored_run.py does."""
        fresh_store = type(variable_scope.get_variable_scope_store())()
        return cls(
            graph,
            threading.local(),
            dict(fresh_store.__dict__),
            [dict(local.__dict__) for local in _inherited_locals()],
        )

    @contextlib.contextmanager
    def enter(self) -> Iterator[None]:
        """Give the calling thread this state inside the block, and keep changes for the next time."""
        outer = GraphState.current(self._graph)
        self._install()
        try:
            yield
        finally:
            left = GraphState.current(self._graph)
            self._variable_scopes, self._inherited = left._variable_scopes, left._inherited
            outer._install()

    def _install(self) -> None:
        self._graph._thread_local = self._graph_local
        stores = [variable_scope.get_variable_scope_store(), *_inherited_locals()]
        for store, contents in zip(stores, [self._variable_scopes, *self._inherited], strict=True):
            # Module globals and graph collections refer to the stores, so only their contents can be swapped.
            store.__dict__.clear()
            store.__dict__.update(contents)


def _inherited_locals() -> list[threading.local]:
    return [summary_ops_v2._summary_state, distribute_utils.caching_scope_local]
