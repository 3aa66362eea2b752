"""Crossed columns: combinations of categories."""

import functools
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Expected, Fact, Ge, Len, Text
from tfdistribute.errors import ModelError
from tfdistribute.models.conversion.features import Categories, Features, no_layer
from tfdistribute.models.feature_columns.categorical import Categorical
from tfdistribute.models.feature_columns.description import (
    TEXT,
    WHOLE_NUMBERS,
    FeatureColumn,
    FeatureRequirement,
    HashBuckets,
    safe_key,
)


@dataclass(frozen=True)
class Crossed(FeatureColumn, kind="crossed"):
    """Categorical column of combined features.

    Args:
        keys: At least two names of features with strings or whole numbers, categorical columns or [column_bucketized()]
            columns, as a character vector or a list.
        hash_bucket_size: Number of buckets, a count of at least 2.
        hash_key: A whole number that is the key of the hash function. NULL uses TensorFlow's default.
    """

    is_categorical: ClassVar[bool] = True
    is_dense: ClassVar[bool] = False
    structural: ClassVar[tuple[str, ...]] = ("keys", "hash_bucket_size", "hash_key")

    keys: Annotated[
        tuple[FeatureColumn | Text, ...],
        Len(2),
        Expected("at least two names of features or columns"),
        Fact.NAME,
    ]
    hash_bucket_size: HashBuckets
    hash_key: Annotated[int, Ge(0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in self.keys:
            if isinstance(key, FeatureColumn) and _cannot_be_crossed(key):
                raise ModelError(
                    f"`keys` of column_crossed() cannot hold {key.name}, which is {key.kind}.",
                    "Give a feature's name, or a categorical column without hashing, or column_bucketized().",
                    value=key.name,
                )

    @property
    def name(self) -> str:
        leaves = _leaf_keys(self)
        names = [each if isinstance(each, str) else each.name for each in leaves]
        return "_X_".join(sorted(names))

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        types = (*TEXT, *WHOLE_NUMBERS)
        remedy = "Only strings and whole numbers can be crossed: use column_bucketized() for other numbers."
        requirements: list[FeatureRequirement] = []
        for key in self.keys:
            if isinstance(key, str):
                requirements.append(FeatureRequirement(key, types, None, self.name, remedy))
            else:
                requirements.extend(key.requirements())
        return tuple(requirements)

    def check_files(self) -> None:
        for key in self.keys:
            if isinstance(key, FeatureColumn):
                key.check_files()

    def categories(self, features: Features) -> Categories:
        return features.once(self, lambda: self._categories(features))

    def _categories(self, features: Features) -> Categories:
        program, leaves = features.program, _leaf_keys(self)
        if self.hash_key:
            raise no_layer(self, "HashedCrossing has no `hash_key`")
        if len(leaves) > 2:
            raise no_layer(self, f"HashedCrossing crosses two values, not {len(leaves)}")
        if any(features.width(each.feature) > 1 for each in self.requirements()):
            raise no_layer(self, "a feature has several values per row")
        columns = [each for each in leaves if isinstance(each, FeatureColumn)]
        known = [each.categories(features) for each in columns]
        # TensorFlow also hashes columns before features.
        tensors = [
            program.op("subtract", each.ids, 1) if each.has_none else each.ids for each in known
        ]
        tensors += [features.tensor(each) for each in leaves if isinstance(each, str)]
        ids = features.hashed(self, "HashedCrossing", tensors, num_bins=self.hash_bucket_size)
        present = [each.is_present(features) for each in columns if isinstance(each, Categorical)]
        if not present:
            return Categories(ids, self.hash_bucket_size, has_none=False)
        both = functools.reduce(lambda a, b: program.op("multiply", a, b), present)
        ids = program.op("multiply", program.op("add", ids, 1), both)
        return Categories(ids, self.hash_bucket_size)

    def build(self) -> Any:
        keys = [safe_key(key) if isinstance(key, str) else key.build() for key in self.keys]
        return engine.tf.feature_column.crossed_column(
            keys, self.hash_bucket_size, hash_key=self.hash_key
        )


def _leaf_keys(column: Crossed) -> list[FeatureColumn | str]:
    keys: list[FeatureColumn | str] = []
    for key in column.keys:
        keys += _leaf_keys(key) if isinstance(key, Crossed) else [key]
    return keys


def _cannot_be_crossed(column: FeatureColumn) -> bool:
    # TensorFlow does not hash a hash, which would only add collisions.
    return not column.is_categorical or column.kind == "categorical_with_hash_bucket"
