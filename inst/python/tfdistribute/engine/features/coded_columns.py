"""Categorical columns that read codes where the features have them."""

import functools
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.feature_column import feature_column_v2
from tensorflow.python.ops import embedding_ops

from tfdistribute.engine.features.standardizer import Standardizer
from tfdistribute.engine.features.wide_columns import RangeNumber

columns_lib: Any = feature_column_v2

MANY_CATEGORIES = 100


def with_codes(column: Any) -> Any:
    """Return a column that reads codes where it can; columns with functions of users stay as they are."""
    if isinstance(column, columns_lib.WeightedCategoricalColumn) or _calls_function(column):
        return column
    if isinstance(column, columns_lib.CategoricalColumn):
        return tuple.__new__(_with_codes(type(column)), column)
    inside = getattr(column, "categorical_column", None)
    return column if inside is None else column._replace(categorical_column=with_codes(inside))


def as_categories(column: Any) -> Any:
    """Return a column for a linear model, in which an indicator of many categories is these categories.

    The sums are the same, as is the name of the weights, but an indicator is a dense matrix of batch size times
    categories. That is as fast for few categories, and faster in compiled steps.
    """
    if not isinstance(column, columns_lib.IndicatorColumn):
        return column
    categories = column.categorical_column
    return column if categories.num_buckets < MANY_CATEGORIES else IndicatorCategories(categories)


class _Inside(NamedTuple):
    categorical_column: Any


class IndicatorCategories(columns_lib.CategoricalColumn, _Inside):
    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    @property
    def parents(self) -> list[Any]:
        return [self.categorical_column]

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        return self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def from_config(
        cls, config: Any, custom_objects: Any = None, columns_by_name: Any = None
    ) -> Any:
        raise NotImplementedError


class CodedColumn:
    name: str

    def code_key(self, codes: Any) -> str:
        return self._keys()[0 if codes.min() >= 0 else 1]

    def _keys(self) -> tuple[str, str]:
        # Parts of a model may have different columns of one name.
        key = f"{self.name}/{hash(self):x}"
        return f"{key}/each", key

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        for key, sparse in zip(self._keys(), (_OneEach, _present), strict=True):
            codes = transformation_cache._features.get(key)
            if codes is not None:
                return columns_lib.CategoricalColumn.IdWeightPair(sparse(codes), None)
        own: Any = super()
        return own.get_sparse_tensors(transformation_cache, state_manager)


@functools.cache
def _with_codes(column_class: type) -> type:
    return type(column_class.__name__, (CodedColumn, column_class), {"__module__": __name__})


def _calls_function(column: Any) -> bool:
    function = getattr(column, "normalizer_fn", None)
    if isinstance(function, RangeNumber):
        function = function.before
    if function is not None and not isinstance(function, Standardizer):
        return True
    return any(map(_calls_function, getattr(column, "parents", ())))


def _present(codes: Any) -> Any:
    rows = tf.where(codes >= 0)
    shape = tf.stack([tf.size(codes, tf.int64), 1])
    return tf.SparseTensor(tf.pad(rows, [[0, 0], [0, 1]]), tf.gather(codes, rows[:, 0]), shape)


class _OneEach(tf.SparseTensor):
    def __init__(self, codes: Any) -> None:
        count = tf.size(codes, tf.int64)
        places = tf.stack([tf.range(count), tf.zeros_like(codes)], 1)
        super().__init__(places, codes, tf.stack([count, 1]))


@tf.experimental.dispatch_for_api(tf.sparse.reshape, {"sp_input": _OneEach})
def _reshape(*args: Any, **kwargs: Any) -> Any:
    return args[0] if args else kwargs["sp_input"]


@tf.experimental.dispatch_for_api(
    embedding_ops.safe_embedding_lookup_sparse, {"sparse_ids": _OneEach}
)
def _look_up(*args: Any, **kwargs: Any) -> Any:
    table, categories = args[:2]
    ids, places = tf.unique(categories.values)
    rows = tf.nn.embedding_lookup(table, ids, kwargs.get("max_norm"))
    return tf.gather(rows, places, name=kwargs.get("name"))
