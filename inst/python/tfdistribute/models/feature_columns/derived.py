"""Columns derived from categorical columns: weighted categories, indicators and embeddings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tfdistribute import engine
from tfdistribute.descriptions.constraints import (
    PLACE,
    Count,
    Fact,
    Ge,
    Never,
    Text,
    both_or_none,
)
from tfdistribute.errors import ModelError
from tfdistribute.models.conversion.features import Features, no_layer
from tfdistribute.models.conversion.program import Read, Result
from tfdistribute.models.differences import find_difference
from tfdistribute.models.feature_columns.description import (
    NUMBERS,
    FeatureColumn,
    FeatureRequirement,
    NumberDtype,
    safe_key,
)
from tfdistribute.models.feature_columns.initializers import Initializer, NamedInitializer
from tfdistribute.models.warm_start import checkpoint_checksum


@dataclass(frozen=True)
class WrapsCategories(FeatureColumn):
    """Fields that several kinds share.

    Args:
        categorical_column: A categorical column, such as [column_categorical_with_vocabulary_list()]. Several columns
            give several results.
    """

    structural: ClassVar[tuple[str, ...]] = ("categorical_column",)

    categorical_column: FeatureColumn

    def __post_init__(self) -> None:
        super().__post_init__()
        column = self.categorical_column
        if not column.is_categorical:
            raise ModelError(
                f"column_{self.kind}() needs a categorical column, but {column.name} is {column.kind}.",
                "Give a column_categorical_*(), column_crossed() or column_bucketized() column.",
                argument="categorical_column",
                value=column.name,
            )

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        return self.categorical_column.requirements()

    def check_files(self) -> None:
        self.categorical_column.check_files()


@dataclass(frozen=True)
class Weighted(WrapsCategories, kind="categorical_weighted"):
    """Categorical column with weights.

    Args:
        weight_feature_key: Name of the feature that holds the weights, a string.
        dtype: Type of the weights: `"float32"`, `"float64"`, `"int32"`, `"int64"` or a TensorFlow dtype.
    """

    is_categorical: ClassVar[bool] = True
    is_dense: ClassVar[bool] = False
    structural: ClassVar[tuple[str, ...]] = ("categorical_column", "weight_feature_key")

    weight_feature_key: Annotated[Text, Fact.NAME]
    dtype: NumberDtype = "float32"

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        weights = FeatureRequirement(
            self.weight_feature_key, NUMBERS, None, self.name, "Weights must be numbers."
        )
        return (*super().requirements(), weights)

    def categories(self, features: Features) -> Any:
        raise no_layer(self, "layers do not weight categories")

    def build(self) -> Any:
        return engine.tf.feature_column.weighted_categorical_column(
            self.categorical_column.build(),
            safe_key(self.weight_feature_key),
            dtype=engine.tf.as_dtype(self.dtype),
        )


@dataclass(frozen=True)
class Indicator(WrapsCategories, kind="indicator"):
    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    def numbers(self, features: Features, part: str, scope: str) -> Result:
        column = self.categorical_column
        return features.once(self, lambda: features.counts(column.categories(features)))

    def build(self) -> Any:
        return engine.tf.feature_column.indicator_column(self.categorical_column.build())


@dataclass(frozen=True)
class Embedding(WrapsCategories, kind="embedding"):
    """Embedding column: categories as learned vectors.

    Args:
        dimension: Length of the vectors, a count.
        combiner: How several categories of one row are combined: `"mean"`, `"sqrtn"` or `"sum"`.
        initializer: Initial values: NULL for a truncated normal distribution with standard deviation `1 /
            sqrt(dimension)`, a name, a list such as `list("truncated_normal", stddev = 0.1)`, or a function of `shape`
            and `dtype`. Names: {initializers}.
        ckpt_to_load_from: Path of a checkpoint with trained vectors. Requires `tensor_name_in_ckpt`.
        tensor_name_in_ckpt: Name of the vectors' variable in that checkpoint.
        max_norm: A number that limits the norm of a vector. NULL sets no limit.
        trainable: Whether training changes the vectors, TRUE or FALSE.
        shared: A string that names the vectors. Columns of the same part of a model that have the same name share their
            vectors. They must have the same categories and the same other arguments. With NULL, the column has its own
            vectors.
    """

    structural: ClassVar[tuple[str, ...]] = (
        "categorical_column",
        "dimension",
        "combiner",
        "trainable",
        "shared",
    )
    rules: ClassVar[tuple[Never, ...]] = both_or_none("ckpt_to_load_from", "tensor_name_in_ckpt")

    dimension: Count
    combiner: Literal["mean", "sqrtn", "sum"] = "mean"
    # None: a truncated normal with standard deviation 1 / sqrt(dimension).
    initializer: Initializer | None = None
    # A checkpoint elsewhere.
    ckpt_to_load_from: Annotated[Text | None, Fact.CODE, PLACE] = None
    tensor_name_in_ckpt: Annotated[Text | None, Fact.NAME] = None
    max_norm: Annotated[float, Ge(0)] | None = None
    trainable: bool = True
    shared: Annotated[Text | None, Fact.NAME] = None

    def content(self) -> Mapping[str, Any]:
        path = self.ckpt_to_load_from
        return {} if path is None else {"checkpoint": checkpoint_checksum(path)}

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    def numbers(self, features: Features, part: str, scope: str) -> Result:
        if self.shared is not None:
            raise no_layer(self, "it shares its vectors with other columns")
        variable, most = f"{scope}/{self.scope}/embedding_weights", self.max_norm
        settings: dict[str, Any] = {"embeddings_initializer": self._keras_initializer()}
        if most is not None:
            config = {"max_value": most, "axis": 1}
            settings["embeddings_constraint"] = {"class_name": "MaxNorm", "config": config}

        def weights(read: Read) -> Any:
            known = read(variable)
            if most is None:
                return known
            norms = np.linalg.norm(known, axis=1, keepdims=True)
            return known * np.minimum(1, most / np.maximum(norms, np.finfo("float32").tiny))

        name, column = f"{part}_{self.scope}", self.categorical_column
        settings["trainable"] = self.trainable
        return features.combine(name, column, self.dimension, weights, self.combiner, **settings)

    def _keras_initializer(self) -> Any:
        if isinstance(self.initializer, NamedInitializer):
            words = self.initializer.name.title().replace("_", "")
            return {"class_name": words, "config": dict(self.initializer.settings)}
        return {"class_name": "TruncatedNormal", "config": {"stddev": self.dimension**-0.5}}

    def build(self) -> Any:
        column = engine.tf.feature_column.embedding_column(
            self.categorical_column.build(),
            self.dimension,
            combiner=self.combiner,
            initializer=None if self.initializer is None else self.initializer.build(),
            ckpt_to_load_from=self.ckpt_to_load_from,
            tensor_name_in_ckpt=self.tensor_name_in_ckpt,
            max_norm=self.max_norm,
            trainable=self.trainable,
        )
        return column if self.shared is None else engine.features.sharing(column, self.shared)

    def comparable(self) -> dict[str, Any]:
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**own, "categorical_column": self.categorical_column.structure()}


def check_shared(columns: Iterable[FeatureColumn], argument: str) -> None:
    """Check that columns of one name of vectors differ in nothing but the feature; ModelError otherwise."""
    first: dict[str, Embedding] = {}
    for column in columns:
        if not isinstance(column, Embedding) or column.shared is None:
            continue
        other = first.setdefault(column.shared, column)
        found = find_difference(other.comparable(), column.comparable(), {"name"})
        if found is not None:
            raise ModelError(
                f'The columns "{other.name}" and "{column.name}" of `{argument}` share the vectors "{column.shared}", '
                f"but not the same `{found.field}`.",
                f"Give both the same `{found.field}`, or another name as `shared`.",
                argument=argument,
                value=column.shared,
            )
