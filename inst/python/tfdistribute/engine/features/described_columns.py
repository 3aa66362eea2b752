"""TensorFlow's feature columns as calls of the functions that describe them in R."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfdistribute.errors import ArgumentError, UnsupportedError

# R's function and the arguments that it shares with TensorFlow's class, by the name of that.
_DESCRIBED: Mapping[str, tuple[str, str]] = {
    "NumericColumn": ("column_numeric", "key shape default_value dtype normalizer_fn"),
    "BucketizedColumn": ("column_bucketized", "source_column boundaries"),
    "VocabularyListCategoricalColumn": (
        "column_categorical_with_vocabulary_list",
        "key vocabulary_list dtype default_value num_oov_buckets",
    ),
    "VocabularyFileCategoricalColumn": (
        "column_categorical_with_vocabulary_file",
        "key vocabulary_file vocabulary_size num_oov_buckets default_value dtype",
    ),
    "HashedCategoricalColumn": (
        "column_categorical_with_hash_bucket",
        "key hash_bucket_size dtype",
    ),
    "IdentityCategoricalColumn": (
        "column_categorical_with_identity",
        "key num_buckets default_value",
    ),
    "WeightedCategoricalColumn": (
        "column_categorical_weighted",
        "categorical_column weight_feature_key dtype",
    ),
    "CrossedColumn": ("column_crossed", "keys hash_bucket_size hash_key"),
    "IndicatorColumn": ("column_indicator", "categorical_column"),
    "EmbeddingColumn": (
        "column_embedding",
        "categorical_column dimension combiner ckpt_to_load_from tensor_name_in_ckpt max_norm trainable",
    ),
}


def describe_column(column: Any) -> dict[str, Any]:
    """Describe a ``tf.feature_column`` by ``verb``, R's function, and ``arguments``; UnsupportedError without one."""
    name = type(column).__name__
    if name in _DESCRIBED:
        verb, names = _DESCRIBED[name]
        fields = {**column._asdict(), **_settings(name, column)}
        plain = {each: _plain(fields[each]) for each in names.split()}
        arguments = {each: value for each, value in plain.items() if value is not None}
        return {"verb": verb, "arguments": arguments}
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


def _settings(name: str, column: Any) -> dict[str, Any]:
    if name == "IdentityCategoricalColumn":
        return {"num_buckets": column.number_buckets}
    if name == "VocabularyFileCategoricalColumn" and column.default_value == -1:
        return {"default_value": None}
    if name == "EmbeddingColumn":
        standard = 1 / column.dimension**0.5
        if getattr(column.initializer, "stddev", None) != standard:
            raise UnsupportedError(
                "The initializer of an embedding column that was made by TensorFlow is not known here.",
                "Make the column with column_embedding(initializer = ).",
                argument="initializer",
                value=type(column.initializer).__name__,
            )
    return {}


def _plain(value: Any) -> Any:
    if hasattr(value, "parse_example_spec"):
        return describe_column(value)
    if isinstance(value, tf.DType):
        return value.name
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
