"""TensorFlow's feature columns as calls of the functions that describe them in R."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfdistribute.errors import ArgumentError, UnsupportedError

Arguments = dict[str, Any]


def describe_column(column: Any) -> dict[str, Any]:
    """Describe a ``tf.feature_column`` by ``verb``, R's function, and ``arguments``; UnsupportedError without one."""
    name = type(column).__name__
    if name in _DESCRIBED:
        verb, arguments = _DESCRIBED[name]
        values = {key: value for key, value in arguments(column).items() if value is not None}
        return {"verb": verb, "arguments": values}
    if not hasattr(column, "parse_example_spec"):
        raise ArgumentError(
            f"An object of class {name} is not a feature column.",
            "Make columns with column_numeric() or another column_*() function.",
            value=name,
        )
    raise UnsupportedError(
        f"The feature column {name} of TensorFlow is not supported.",
        "Use one of the column_*() functions, see ?feature_columns.",
        value=name,
    )


def _numeric(column: Any) -> Arguments:
    return {
        "key": column.key,
        "shape": list(column.shape),
        "default_value": column.default_value and list(column.default_value),
        "dtype": column.dtype.name,
        "normalizer_fn": column.normalizer_fn,
    }


def _bucketized(column: Any) -> Arguments:
    source = describe_column(column.source_column)
    return {"source_column": source, "boundaries": list(column.boundaries)}


def _vocabulary_list(column: Any) -> Arguments:
    return {
        "key": column.key,
        "vocabulary_list": list(column.vocabulary_list),
        "dtype": column.dtype.name,
        "default_value": column.default_value,
        "num_oov_buckets": column.num_oov_buckets,
    }


def _vocabulary_file(column: Any) -> Arguments:
    return {
        "key": column.key,
        "vocabulary_file": column.vocabulary_file,
        "vocabulary_size": column.vocabulary_size,
        "num_oov_buckets": column.num_oov_buckets,
        "default_value": None if column.default_value == -1 else column.default_value,
        "dtype": column.dtype.name,
    }


def _hashed(column: Any) -> Arguments:
    size = column.hash_bucket_size
    return {"key": column.key, "hash_bucket_size": size, "dtype": column.dtype.name}


def _identity(column: Any) -> Arguments:
    buckets, default = column.number_buckets, column.default_value
    return {"key": column.key, "num_buckets": buckets, "default_value": default}


def _weighted(column: Any) -> Arguments:
    return {
        "categorical_column": describe_column(column.categorical_column),
        "weight_feature_key": column.weight_feature_key,
        "dtype": column.dtype.name,
    }


def _crossed(column: Any) -> Arguments:
    keys = [key if isinstance(key, str) else describe_column(key) for key in column.keys]
    return {"keys": keys, "hash_bucket_size": column.hash_bucket_size, "hash_key": column.hash_key}


def _indicator(column: Any) -> Arguments:
    return {"categorical_column": describe_column(column.categorical_column)}


def _embedding(column: Any) -> Arguments:
    standard = 1 / column.dimension**0.5
    initializer = column.initializer
    if getattr(initializer, "stddev", None) != standard:
        raise UnsupportedError(
            "The initializer of an embedding column that was made by TensorFlow is not known here.",
            "Make the column with column_embedding(initializer = ).",
            argument="initializer",
            value=type(initializer).__name__,
        )
    return {
        "categorical_column": describe_column(column.categorical_column),
        "dimension": column.dimension,
        "combiner": column.combiner,
        "ckpt_to_load_from": column.ckpt_to_load_from,
        "tensor_name_in_ckpt": column.tensor_name_in_ckpt,
        "max_norm": column.max_norm,
        "trainable": column.trainable,
    }


# R's function and its arguments, by TensorFlow's class.
_DESCRIBED: Mapping[str, tuple[str, Callable[[Any], Arguments]]] = {
    "NumericColumn": ("column_numeric", _numeric),
    "BucketizedColumn": ("column_bucketized", _bucketized),
    "VocabularyListCategoricalColumn": (
        "column_categorical_with_vocabulary_list",
        _vocabulary_list,
    ),
    "VocabularyFileCategoricalColumn": (
        "column_categorical_with_vocabulary_file",
        _vocabulary_file,
    ),
    "HashedCategoricalColumn": ("column_categorical_with_hash_bucket", _hashed),
    "IdentityCategoricalColumn": ("column_categorical_with_identity", _identity),
    "WeightedCategoricalColumn": ("column_categorical_weighted", _weighted),
    "CrossedColumn": ("column_crossed", _crossed),
    "IndicatorColumn": ("column_indicator", _indicator),
    "EmbeddingColumn": ("column_embedding", _embedding),
}
