"""TensorFlow's feature columns as calls of the functions that describe them in R."""

from collections.abc import Mapping
from typing import Any

from tfdistribute import engine
from tfdistribute.descriptions.fields import fields_of
from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.models.feature_columns.description import FeatureColumn

# Kinds of columns by the names of TensorFlow's classes, which have the same fields.
_KINDS: Mapping[str, str] = {
    "NumericColumn": "numeric",
    "BucketizedColumn": "bucketized",
    "VocabularyListCategoricalColumn": "categorical_with_vocabulary_list",
    "VocabularyFileCategoricalColumn": "categorical_with_vocabulary_file",
    "HashedCategoricalColumn": "categorical_with_hash_bucket",
    "IdentityCategoricalColumn": "categorical_with_identity",
    "WeightedCategoricalColumn": "categorical_weighted",
    "CrossedColumn": "crossed",
    "IndicatorColumn": "indicator",
    "EmbeddingColumn": "embedding",
}


def describe_column(column: Any) -> dict[str, Any]:
    """Describe a ``tf.feature_column`` by ``verb``, R's function, and ``arguments``; UnsupportedError without one."""
    name = type(column).__name__
    if name in _KINDS:
        fields = {**column._asdict(), **_settings(name, column)}
        plain = {
            each: _plain(fields.get(each)) for each in fields_of(FeatureColumn.kinds[_KINDS[name]])
        }
        arguments = {each: value for each, value in plain.items() if value is not None}
        return {"verb": f"column_{_KINDS[name]}", "arguments": arguments}
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
        return {"initializer": None}
    return {}


def _plain(value: Any) -> Any:
    if hasattr(value, "parse_example_spec"):
        return describe_column(value)
    if isinstance(value, engine.tf.DType):
        return value.name
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
