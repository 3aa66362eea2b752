"""The thread-local state of a graph, as a value that can be swapped.

Scopes, devices, control dependencies, variable creators and the current replica are thread-local. Replicas that share
one thread swap these values, because each must begin with an empty state.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tensorflow.python.distribute import distribute_utils
from tensorflow.python.framework import ops
from tensorflow.python.ops import summary_ops_v2, variable_scope


class GraphState:
    """The state of one graph, as the calling thread has it or as a replica's own thread would begin with it.

    ``graph`` must have called ``switch_to_thread_local()``. A new thread inherits the states of summaries and caches,
    as ``_MirroredReplicaThread`` in mirrored_run.py does.
    """

    def __init__(self, graph: ops.Graph, of_new_thread: bool = False) -> None:
        store, *inherited = _stores()
        self._graph = graph
        self._graph_local = threading.local() if of_new_thread else graph._thread_local
        first = type(store)() if of_new_thread else store
        self._contents = [dict(vars(each)) for each in (first, *inherited)]

    @contextlib.contextmanager
    def enter(self) -> Iterator[None]:
        """Give the calling thread this state inside the block, and keep changes for the next time."""
        outer = GraphState(self._graph)
        self._install()
        try:
            yield
        finally:
            self._contents = GraphState(self._graph)._contents
            outer._install()

    def _install(self) -> None:
        self._graph._thread_local = self._graph_local
        for store, contents in zip(_stores(), self._contents, strict=True):
            # Module globals and graph collections refer to the stores, so only their contents can be swapped.
            vars(store).clear()
            vars(store).update(contents)


def _stores() -> list[Any]:
    return [
        variable_scope.get_variable_scope_store(),
        summary_ops_v2._summary_state,
        distribute_utils.caching_scope_local,
    ]
