"""Further calls of a pipeline's stage, with the variables of the first.

Names of layers, seeds, updates and losses are put back after a call, so that checkpoints stay the same.
"""

import collections
import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import shared_variable_creator
from tensorflow.python.framework import ops, random_seed
from tensorflow.python.ops import variable_scope

from tfdistribute.engine import keras2

v1 = tf.compat.v1


class StageMemory:
    """The variables that a stage made, and the counters before it was called."""

    def __init__(self) -> None:
        self.variables: dict[str, list[Any]] = {}
        self._before = _Counters()

    def call_again(self, stage: Callable[[Any], Any], part: Any, number: int) -> Any:
        """Call a stage with another micro-batch."""
        after = _Counters()
        self._before.restore_names()
        find = shared_variable_creator.make_fn(self.variables, 1)
        try:
            with (
                # Names of operations cannot be put back, and later layers need them.
                ops.name_scope(f"micro_batch_{number}"),
                variable_scope.variable_scope(variable_scope.get_variable_scope(), reuse=True),
                variable_scope.variable_creator_scope(find),
            ):
                return stage(part)
        finally:
            after.restore()


@contextlib.contextmanager
def remember_variables() -> Iterator[StageMemory]:
    """Remember the variables that are made inside the block."""
    memory = StageMemory()
    create = shared_variable_creator.make_fn(memory.variables, 0)
    with variable_scope.variable_creator_scope(create):
        yield memory


class _Counters:
    def __init__(self) -> None:
        self._graph = ops.get_default_graph()
        self._layers = dict(_layer_names(self._graph))
        self._scopes = dict(_scopes())
        self._seeds = random_seed._graph_to_seed_dict.get(self._graph)
        generator = _generator()
        self._random = None if generator is None else generator.getstate()
        keys = self._graph.get_all_collection_keys()
        self._collections = {key: list(self._graph.get_collection_ref(key)) for key in keys}

    def restore_names(self) -> None:
        """Put the names of layers back, but not seeds, so that micro-batches get different dropout masks."""
        for counts, before in (
            (_layer_names(self._graph), self._layers),
            (_scopes(), self._scopes),
        ):
            counts.clear()
            counts.update(before)

    def restore(self) -> None:
        self.restore_names()
        if self._seeds is not None:
            random_seed._graph_to_seed_dict[self._graph] = self._seeds
        generator = _generator()
        if generator is not None and self._random is not None:
            generator.setstate(self._random)
        for key in self._graph.get_all_collection_keys():
            self._graph.get_collection_ref(key)[:] = self._collections.get(key, [])


def _layer_names(graph: Any) -> Any:
    names = keras2.backend.PER_GRAPH_OBJECT_NAME_UIDS
    return names.setdefault(graph, collections.defaultdict(int))


def _scopes() -> Any:
    return variable_scope.get_variable_scope_store().variable_scopes_count


def _generator() -> random.Random | None:
    return getattr(keras2.backend._SEED_GENERATOR, "generator", None)
