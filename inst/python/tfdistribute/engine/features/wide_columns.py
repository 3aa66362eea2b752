"""Numeric columns that are transformed in 64 bits, before the layers of Keras cast what they read to 32."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.feature_column import feature_column_v2

columns_lib: Any = feature_column_v2


class WideNumericColumn(columns_lib.NumericColumn):
    @classmethod
    def of(cls, column: Any) -> Any:
        return tuple.__new__(cls, column)

    @property
    def transformed_key(self) -> str:
        # Parts of a model may transform one feature in different ways.
        return f"{self.name}/transformed/{hash(self.normalizer_fn):x}"

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        if self.transformed_key in transformation_cache._features:
            return transformation_cache.get(self.transformed_key, state_manager)
        return super().transform_feature(transformation_cache, state_manager)


@dataclass(frozen=True)
class RangeNumber:
    """The number of the range that holds a value, counted from 0.

    TensorFlow's own operation has boundaries of 32 bits.
    """

    boundaries: tuple[float, ...]
    before: Any = None  # The function of the source column, or None.

    @property
    def own_boundaries(self) -> list[float]:
        """Boundaries of the numbers of ranges, for TensorFlow's bucketized column."""
        return [number + 0.5 for number in range(len(self.boundaries))]

    def __call__(self, values: Any) -> Any:
        values = values if self.before is None else self.before(values)
        reached = tf.cast(values, tf.float64)[..., tf.newaxis] >= tf.constant(
            self.boundaries, tf.float64
        )
        return tf.reduce_sum(tf.cast(reached, tf.float32), -1)


def add_transformed(features: Mapping[str, Any], columns: Sequence[Any]) -> Mapping[str, Any]:
    wide = dict.fromkeys(_wide_in(columns))
    if not wide:
        return features
    cache = columns_lib.FeatureTransformationCache(features)
    return {
        **features,
        **{column.transformed_key: cache.get(column, None) for column in wide},
    }


def _wide_in(columns: Sequence[Any]) -> Iterator[Any]:
    for column in columns:
        if isinstance(column, WideNumericColumn):
            yield column
        yield from _wide_in(getattr(column, "parents", ()))
