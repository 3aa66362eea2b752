"""Columns of categories: which of a number of buckets a value belongs to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.errors import InputError, ModelError
from tfdistribute.models.feature_columns.description import (
    NUMBERS,
    TEXT,
    WHOLE_NUMBERS,
    FeatureColumn,
    Need,
    check_categorical,
    safe_key,
)


@dataclass(frozen=True)
class Categorical(FeatureColumn):
    """What the columns of one feature's categories share.

    Args:
        key: The feature.
    """

    is_categorical: ClassVar[bool] = True
    is_dense: ClassVar[bool] = False

    key: str

    @property
    def name(self) -> str:
        """The feature's name."""
        return self.key

    @property
    def is_text(self) -> bool:
        """Whether the feature is read as strings, not as whole numbers."""
        raise NotImplementedError

    def needs(self) -> tuple[Need, ...]:
        """List the feature."""
        if self.is_text:
            remedy = 'Make it a character vector or a factor, or give the column dtype = "int64" for whole numbers.'
            return (Need(self.key, TEXT, None, self.name, remedy),)
        remedy = "Make it whole numbers with as.integer(), or use column_numeric() or column_bucketized()."
        return (Need(self.key, WHOLE_NUMBERS, None, self.name, remedy),)


@dataclass(frozen=True)
class VocabularyList(Categorical, kind="categorical_with_vocabulary_list"):
    """Categories that are listed.

    Args:
        vocabulary_list: The categories; the first has index 0.
        dtype: "string", "int32" or "int64"; None to follow the vocabulary.
        default_value: Index of values that are not listed; -1 ignores them.
        num_oov_buckets: Buckets for values that are not listed; then default_value must be -1.

    Raises:
        ModelError: a category is listed twice, or default_value and num_oov_buckets are both set.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_vocabulary_list
    """

    vocabulary_list: tuple[str, ...] | tuple[int, ...] = ()
    dtype: str | None = None
    default_value: int = -1
    num_oov_buckets: int = 0

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        if not self.vocabulary_list:
            raise ModelError(
                f"`vocabulary_list` of {self.name} is empty.",
                "List the categories.",
                argument="vocabulary_list",
            )
        repeated = [
            value for value in self.vocabulary_list if list(self.vocabulary_list).count(value) > 1
        ]
        if repeated:
            raise ModelError(
                f"`vocabulary_list` of {self.name} lists {repeated[0]!r} twice.",
                "List each category once.",
                argument="vocabulary_list",
                value=str(repeated[0]),
            )
        _check_unlisted(self.name, self.default_value, self.num_oov_buckets, unset=-1)

    @property
    def is_text(self) -> bool:
        """Whether the categories are strings."""
        return self.dtype == "string" or (
            self.dtype is None and isinstance(self.vocabulary_list[0], str)
        )

    def build(self) -> Any:
        """Make the ``categorical_column_with_vocabulary_list``."""
        return engine.tf.feature_column.categorical_column_with_vocabulary_list(
            safe_key(self.key),
            list(self.vocabulary_list),
            dtype=None if self.dtype is None else engine.tf.as_dtype(self.dtype),
            default_value=self.default_value,
            num_oov_buckets=self.num_oov_buckets,
        )

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean."""
        return {
            "kind": self.kind,
            "name": self.name,
            "vocabulary_list": list(self.vocabulary_list),
            "default_value": self.default_value,
            "num_oov_buckets": self.num_oov_buckets,
        }


@dataclass(frozen=True)
class VocabularyFile(Categorical, kind="categorical_with_vocabulary_file"):
    """Categories that stand in a text file, one a line.

    Args:
        vocabulary_file: The file; read when a model is trained.
        vocabulary_size: Lines to use; None for all.
        num_oov_buckets: Buckets for values that are not in the file.
        default_value: Index of values that are not in the file; None ignores them.
        dtype: "string", "int32" or "int64".

    Raises:
        ModelError: default_value and num_oov_buckets are both set.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_vocabulary_file
    """

    vocabulary_file: str = ""
    vocabulary_size: int | None = None
    num_oov_buckets: int = 0
    default_value: int | None = None
    dtype: str = "string"

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        _check_unlisted(self.name, self.default_value, self.num_oov_buckets, unset=None)

    @property
    def is_text(self) -> bool:
        """Whether the categories are strings."""
        return self.dtype == "string"

    def check_files(self) -> None:
        """See that the file is there, unless it is on a remote file system."""
        if "://" not in self.vocabulary_file and not os.path.isfile(self.vocabulary_file):
            raise InputError(
                f'`vocabulary_file` "{self.vocabulary_file}" of {self.name} does not exist.',
                "Give the path of a text file with one category a line.",
                argument="vocabulary_file",
                value=self.vocabulary_file,
            )

    def build(self) -> Any:
        """Make the ``categorical_column_with_vocabulary_file``."""
        return engine.tf.feature_column.categorical_column_with_vocabulary_file(
            safe_key(self.key),
            self.vocabulary_file,
            vocabulary_size=self.vocabulary_size,
            num_oov_buckets=self.num_oov_buckets,
            default_value=self.default_value,
            dtype=engine.tf.as_dtype(self.dtype),
        )

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean; the file's place may change."""
        return {
            "kind": self.kind,
            "name": self.name,
            "vocabulary_size": self.vocabulary_size,
            "num_oov_buckets": self.num_oov_buckets,
            "default_value": self.default_value,
        }


@dataclass(frozen=True)
class HashBucket(Categorical, kind="categorical_with_hash_bucket"):
    """Categories by the hash of the value.

    Args:
        hash_bucket_size: Number of buckets, at least 2.
        dtype: "string", "int32" or "int64".

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_hash_bucket
    """

    hash_bucket_size: int = 0
    dtype: str = "string"

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        _check_buckets(self.name, "hash_bucket_size", self.hash_bucket_size, 2)

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return self.dtype == "string"

    def build(self) -> Any:
        """Make the ``categorical_column_with_hash_bucket``."""
        return engine.tf.feature_column.categorical_column_with_hash_bucket(
            safe_key(self.key), self.hash_bucket_size, dtype=engine.tf.as_dtype(self.dtype)
        )

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean."""
        return {"kind": self.kind, "name": self.name, "hash_bucket_size": self.hash_bucket_size}


@dataclass(frozen=True)
class Identity(Categorical, kind="categorical_with_identity"):
    """Whole numbers that are the categories' indices.

    Args:
        num_buckets: Values are 0 to num_buckets - 1.
        default_value: Index of other values; None makes them an error of training.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_identity
    """

    num_buckets: int = 0
    default_value: int | None = None

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        _check_buckets(self.name, "num_buckets", self.num_buckets, 1)

    @property
    def is_text(self) -> bool:
        """Never: indices are whole numbers."""
        return False

    def build(self) -> Any:
        """Make the ``categorical_column_with_identity``."""
        return engine.tf.feature_column.categorical_column_with_identity(
            safe_key(self.key), self.num_buckets, default_value=self.default_value
        )

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean."""
        return {"kind": self.kind, "name": self.name, "num_buckets": self.num_buckets}


@dataclass(frozen=True)
class Weighted(FeatureColumn, kind="categorical_weighted"):
    """Categories of one feature, weighted by the numbers of another.

    Args:
        categorical_column: The categories.
        weight_feature_key: Feature that holds the weights.
        dtype: "float32", "float64", "int32" or "int64".

    Raises:
        ModelError: categorical_column is no categorical column.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/weighted_categorical_column
    """

    is_categorical: ClassVar[bool] = True
    is_dense: ClassVar[bool] = False

    categorical_column: FeatureColumn
    weight_feature_key: str
    dtype: str = "float32"

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        check_categorical(self.categorical_column, "column_categorical_weighted()")

    @property
    def name(self) -> str:
        """``x_weighted_by_w``."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    def check_files(self) -> None:
        """See that the files of the categories are there."""
        self.categorical_column.check_files()

    def needs(self) -> tuple[Need, ...]:
        """List the categories' features and the weights."""
        weight = Need(self.weight_feature_key, NUMBERS, None, self.name, "Weights must be numbers.")
        return (*self.categorical_column.needs(), weight)

    def build(self) -> Any:
        """Make the ``weighted_categorical_column``."""
        return engine.tf.feature_column.weighted_categorical_column(
            self.categorical_column.build(),
            safe_key(self.weight_feature_key),
            dtype=engine.tf.as_dtype(self.dtype),
        )

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean."""
        return {
            "kind": self.kind,
            "name": self.name,
            "categorical_column": self.categorical_column.structure(),
            "weight_feature_key": self.weight_feature_key,
        }


def _check_unlisted(
    name: str, default_value: int | None, num_oov_buckets: int, unset: int | None
) -> None:
    if num_oov_buckets and default_value != unset:
        raise ModelError(
            f"{name} cannot have both `default_value` ({default_value}) and `num_oov_buckets` ({num_oov_buckets}).",
            "Give one of them.",
            argument="num_oov_buckets",
            value=str(num_oov_buckets),
        )


def _check_buckets(name: str, argument: str, value: int, minimum: int) -> None:
    if value < minimum:
        raise ModelError(
            f"`{argument}` of {name} must be at least {minimum}, not {value}.",
            f"Give `{argument}` as a whole number of at least {minimum}.",
            argument=argument,
            value=str(value),
        )
