"""Categorical columns, which assign each value to a bucket."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.descriptions import check_choice, check_minimum
from tfdistribute.errors import ArgumentError, InputError, ModelError
from tfdistribute.models.feature_columns.description import (
    CATEGORY_DTYPES,
    TEXT,
    WHOLE_NUMBERS,
    FeatureColumn,
    FeatureRequirement,
    safe_key,
)


@dataclass(frozen=True)
class Categorical(FeatureColumn):
    """Categories of the feature ``key``."""

    is_categorical: ClassVar[bool] = True
    is_dense: ClassVar[bool] = False

    key: str

    @property
    def name(self) -> str:
        """The feature's name."""
        return self.key

    @property
    def is_text(self) -> bool:
        """Whether the feature holds strings rather than whole numbers."""
        raise NotImplementedError

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        """Return the feature."""
        if self.is_text:
            types = TEXT
            remedy = (
                'Make it a character vector or a factor without `factors = "codes"`, '
                'or give the column dtype = "int64" for whole numbers.'
            )
        else:
            types = WHOLE_NUMBERS
            remedy = (
                "Make it a factor, whose codes count from 0, or whole numbers from 0; "
                "or use column_numeric() or column_bucketized()."
            )
        return (FeatureRequirement(self.key, types, None, self.name, remedy),)


@dataclass(frozen=True)
class VocabularyList(Categorical, kind="categorical_with_vocabulary_list"):
    """Listed categories.

    Args:
        vocabulary_list: The categories; the first has index 0.
        dtype: "string", "int32" or "int64"; None for that of the vocabulary.
        default_value: Index of unlisted values; -1 ignores them.
        num_oov_buckets: Buckets for unlisted values; requires default_value -1.

    Raises:
        ArgumentError: no category is listed.
        ModelError: a category is listed twice, or default_value and num_oov_buckets are both set.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_vocabulary_list
    """

    vocabulary_list: tuple[str, ...] | tuple[int, ...] = ()
    dtype: str | None = None
    default_value: int = -1
    num_oov_buckets: int = 0

    def __post_init__(self) -> None:
        if not self.vocabulary_list:
            raise ArgumentError(
                f"`vocabulary_list` of {self.name} is empty.",
                "List the categories.",
                argument="vocabulary_list",
            )
        counts = Counter(self.vocabulary_list)
        repeated = next((value for value, count in counts.items() if count > 1), None)
        if repeated is not None:
            raise ModelError(
                f"`vocabulary_list` of {self.name} lists {repeated!r} twice.",
                "List each category once.",
                argument="vocabulary_list",
                value=str(repeated),
            )
        check_choice("dtype", self.dtype or "string", CATEGORY_DTYPES)
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
        """Describe the vocabulary and the buckets of unlisted values."""
        return {
            **super().structure(),
            "vocabulary_list": list(self.vocabulary_list),
            "default_value": self.default_value,
            "num_oov_buckets": self.num_oov_buckets,
        }


@dataclass(frozen=True)
class VocabularyFile(Categorical, kind="categorical_with_vocabulary_file"):
    """Categories listed in a text file, one per line.

    Args:
        vocabulary_file: Read when a model is trained.
        vocabulary_size: Lines to use; None for all.
        num_oov_buckets: Buckets for unlisted values.
        default_value: Index of unlisted values; None ignores them.
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
        check_choice("dtype", self.dtype, CATEGORY_DTYPES)
        _check_unlisted(self.name, self.default_value, self.num_oov_buckets, unset=None)

    @property
    def is_text(self) -> bool:
        """Whether the categories are strings."""
        return self.dtype == "string"

    def check_files(self) -> None:
        """Check that the file exists, unless it is on a remote file system."""
        if "://" not in self.vocabulary_file and not os.path.isfile(self.vocabulary_file):
            raise InputError(
                f'`vocabulary_file` "{self.vocabulary_file}" of {self.name} does not exist.',
                "Give the path of a text file with one category per line.",
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
        """Describe the buckets, without the file's path, which may change."""
        return {
            **super().structure(),
            "vocabulary_size": self.vocabulary_size,
            "num_oov_buckets": self.num_oov_buckets,
            "default_value": self.default_value,
        }


@dataclass(frozen=True)
class HashBucket(Categorical, kind="categorical_with_hash_bucket"):
    """Categories by hash of the value.

    Args:
        hash_bucket_size: At least 2.
        dtype: "string", "int32" or "int64".

    Raises:
        ArgumentError: fewer than 2 buckets.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_hash_bucket
    """

    hash_bucket_size: int = 0
    dtype: str = "string"

    def __post_init__(self) -> None:
        check_minimum("hash_bucket_size", self.hash_bucket_size, 2)
        check_choice("dtype", self.dtype, CATEGORY_DTYPES)

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
        """Describe the buckets."""
        return {**super().structure(), "hash_bucket_size": self.hash_bucket_size}


@dataclass(frozen=True)
class Identity(Categorical, kind="categorical_with_identity"):
    """Whole numbers that are category indices.

    Args:
        num_buckets: Values range from 0 to num_buckets - 1.
        default_value: Index of other values; None makes them an error in training.

    Raises:
        ArgumentError: no buckets.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_identity
    """

    num_buckets: int = 0
    default_value: int | None = None

    def __post_init__(self) -> None:
        check_minimum("num_buckets", self.num_buckets, 1)

    @property
    def is_text(self) -> bool:
        """Return False: indices are whole numbers."""
        return False

    def build(self) -> Any:
        """Make the ``categorical_column_with_identity``."""
        return engine.tf.feature_column.categorical_column_with_identity(
            safe_key(self.key), self.num_buckets, default_value=self.default_value
        )

    def structure(self) -> dict[str, Any]:
        """Describe the buckets."""
        return {**super().structure(), "num_buckets": self.num_buckets}


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
