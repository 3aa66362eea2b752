"""What TensorFlow remembers per thread about a graph, as a value that can be exchanged.

Scopes, devices, control dependencies, variable creators and the current replica are kept in
thread-local storage. A replica that runs on a thread of its own therefore starts with a clean slate,
and what it opens is not seen by its siblings. Replicas that share one thread get the same by
exchanging these values.
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
    """The thread-local state of one graph, for one real or imagined thread.

    Made by ``current()`` and ``of_new_thread()``. It does not hold the graph's operations: these
    belong to all threads.

    Args:
        graph: The graph whose state this is; its ``switch_to_thread_local()`` has been called.
        graph_local: What the graph itself keeps per thread.
        variable_scopes: Contents of the thread's variable scope store.
        inherited: Contents of the states that TensorFlow hands down from a thread to its replicas.
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
        """Take down the state that the calling thread has now.

        Args:
            graph: The default graph.

        Returns:
            The state; scopes opened later do not change it.
        """
        return cls(
            graph,
            graph._thread_local,
            dict(variable_scope.get_variable_scope_store().__dict__),
            [dict(local.__dict__) for local in _inherited_locals()],
        )

    @classmethod
    def of_new_thread(cls, graph: ops.Graph) -> GraphState:
        """Make the state with which a replica's own thread would begin.

        Args:
            graph: The default graph.

        Returns:
            A state without scopes, with the calling thread's summary and read-caching settings.

        Source:
            ``_MirroredReplicaThread`` in tensorflow/python/distribute/mirrored_run.py.
        """
        fresh_store = type(variable_scope.get_variable_scope_store())()
        return cls(
            graph,
            threading.local(),
            dict(fresh_store.__dict__),
            [dict(local.__dict__) for local in _inherited_locals()],
        )

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Exchange the calling thread's state for this one, and back at the end, also after an error.

        What changes meanwhile is kept here, so that a state can be entered again where it was left.

        Yields:
            Nothing.
        """
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
            # Others hold the stores, as module globals and in graph collections: only their contents
            # can be exchanged.
            store.__dict__.clear()
            store.__dict__.update(contents)


def missing_parts() -> list[str]:
    """Name the private parts of TensorFlow that this file needs and the installed version has not.

    Returns:
        Names as text; empty for the versions this package is tested with.
    """
    graph = ops.Graph()
    needed = {
        "Graph._thread_local": hasattr(graph, "_thread_local"),
        "Graph.switch_to_thread_local": hasattr(graph, "switch_to_thread_local"),
        "variable_scope.get_variable_scope_store": hasattr(
            variable_scope, "get_variable_scope_store"
        ),
        "summary_ops_v2._summary_state": hasattr(summary_ops_v2, "_summary_state"),
        "distribute_utils.caching_scope_local": hasattr(distribute_utils, "caching_scope_local"),
    }
    return [name for name, present in needed.items() if not present]


def _inherited_locals() -> list[threading.local]:
    return [summary_ops_v2._summary_state, distribute_utils.caching_scope_local]
