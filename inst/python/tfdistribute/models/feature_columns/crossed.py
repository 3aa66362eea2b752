"""Crossed columns: combinations of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Expected, Fact, Ge, Len, Text
from tfdistribute.errors import ModelError
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
                    argument="keys",
                    value=key.name,
                )

    @property
    def name(self) -> str:
        return "_X_".join(sorted(_leaves(self)))

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

    def build(self) -> Any:
        keys = [safe_key(key) if isinstance(key, str) else key.build() for key in self.keys]
        return engine.tf.feature_column.crossed_column(
            keys, self.hash_bucket_size, hash_key=self.hash_key
        )


def _leaves(column: Crossed) -> list[str]:
    names: list[str] = []
    for key in column.keys:
        if isinstance(key, Crossed):
            names.extend(_leaves(key))
        else:
            names.append(key if isinstance(key, str) else key.name)
    return names


def _cannot_be_crossed(column: FeatureColumn) -> bool:
    # TensorFlow does not hash a hash, which would only add collisions.
    return not column.is_categorical or column.kind == "categorical_with_hash_bucket"
