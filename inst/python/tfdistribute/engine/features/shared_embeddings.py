"""Embedding columns that share one table, which belongs to the first of them in a layer."""

import functools
from typing import Any, NamedTuple

from tensorflow.python.feature_column import feature_column_v2

columns_lib: Any = feature_column_v2


def sharing(column: Any, table: str) -> Any:
    return tuple.__new__(_sharing_class(table), column)


class _Table(NamedTuple):
    name: str


class _StateOfTable(NamedTuple):
    """A layer's state, in which all columns of a table are one."""

    of_layer: Any
    table: _Table

    def create_variable(self, _column: Any, name: str, **settings: Any) -> None:
        if name not in self.of_layer._cols_to_vars_map[self.table]:
            self.of_layer.create_variable(self.table, name, **settings)

    def get_variable(self, _column: Any, name: str) -> Any:
        return self.of_layer.get_variable(self.table, name)


class _SharingColumn:
    table: _Table

    def create_state(self, state_manager: Any) -> None:
        own: Any = super()
        own.create_state(_StateOfTable(state_manager, self.table))

    def _get_dense_tensor_internal(self, sparse_tensors: Any, state_manager: Any) -> Any:
        own: Any = super()
        state = _StateOfTable(state_manager, self.table)
        return own._get_dense_tensor_internal(sparse_tensors, state)


@functools.cache
def _sharing_class(table: str) -> type:
    base = columns_lib.EmbeddingColumn
    own = {"__module__": __name__, "table": _Table(table)}
    return type(base.__name__, (_SharingColumn, base), own)
