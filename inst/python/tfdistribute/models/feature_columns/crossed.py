"""Combinations of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.errors import ModelError
from tfdistribute.models.feature_columns.description import (
    TEXT,
    WHOLE_NUMBERS,
    FeatureColumn,
    Need,
    safe_key,
)


@dataclass(frozen=True)
class Crossed(FeatureColumn, kind="crossed"):
    """Every combination of several features' categories, hashed.

    Args:
        keys: At least two: names of string or whole number features, categorical columns or bucketized columns.
        hash_bucket_size: Number of buckets, at least 2.
        hash_key: Key of the hash; None for TensorFlow's.

    Raises:
        ModelError: fewer than two keys, or a key that cannot be crossed.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/crossed_column
    """

    is_categorical: ClassVar[bool] = True
    is_dense: ClassVar[bool] = False

    keys: tuple[FeatureColumn | str, ...]
    hash_bucket_size: int
    hash_key: int | None = None

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        if len(self.keys) < 2:
            raise ModelError(
                f"column_crossed() needs at least two `keys`, not {len(self.keys)}.",
                "Give the names of two features, or two columns.",
                argument="keys",
                value=self.name,
            )
        for key in self.keys:
            if isinstance(key, FeatureColumn) and _cannot_be_crossed(key):
                raise ModelError(
                    f"`keys` of column_crossed() cannot hold {key.name}, which is {key.kind}.",
                    "Give a feature's name, or a categorical column without hashing, or column_bucketized().",
                    argument="keys",
                    value=key.name,
                )

    @property
    def name(self) -> str:
        """``a_X_b``, the names in alphabetical order."""
        return "_X_".join(sorted(leaves(self)))

    def needs(self) -> tuple[Need, ...]:
        """List the features of all keys."""
        remedy = "Only strings and whole numbers can be crossed: use column_bucketized() for other numbers."
        found: list[Need] = []
        for key in self.keys:
            if isinstance(key, str):
                found.append(Need(key, (*TEXT, *WHOLE_NUMBERS), None, self.name, remedy))
            else:
                found.extend(key.needs())
        return tuple(found)

    def check_files(self) -> None:
        """See that the files of the crossed columns are there."""
        for key in self.keys:
            if isinstance(key, FeatureColumn):
                key.check_files()

    def build(self) -> Any:
        """Make the ``crossed_column``."""
        keys = [safe_key(key) if isinstance(key, str) else key.build() for key in self.keys]
        return engine.tf.feature_column.crossed_column(
            keys, self.hash_bucket_size, hash_key=self.hash_key
        )

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean."""
        return {
            "kind": self.kind,
            "name": self.name,
            "keys": [key if isinstance(key, str) else key.structure() for key in self.keys],
            "hash_bucket_size": self.hash_bucket_size,
            "hash_key": self.hash_key,
        }


def leaves(column: Crossed) -> list[str]:
    """Name what is crossed, through crossed columns inside crossed columns.

    Args:
        column: A crossed column.

    Returns:
        Names of features and columns.

    Source:
        _collect_leaf_level_keys in tensorflow/python/feature_column/feature_column_v2.py.
    """
    names: list[str] = []
    for key in column.keys:
        if isinstance(key, Crossed):
            names.extend(leaves(key))
        else:
            names.append(key if isinstance(key, str) else key.name)
    return names


def _cannot_be_crossed(column: FeatureColumn) -> bool:
    # A hash of a hash would only add collisions, so TensorFlow refuses it.
    return not column.is_categorical or column.kind == "categorical_with_hash_bucket"
