"""Categories as vectors, for models with layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import ModelError
from tfdistribute.models.feature_columns.description import FeatureColumn, Need, check_categorical
from tfdistribute.models.feature_columns.initializers import Initializer


@dataclass(frozen=True)
class Indicator(FeatureColumn, kind="indicator"):
    """One number per category: how often it occurs in the row.

    Args:
        categorical_column: The categories.

    Raises:
        ModelError: categorical_column is no categorical column.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/indicator_column
    """

    categorical_column: FeatureColumn

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        check_categorical(self.categorical_column, "column_indicator()")

    @property
    def name(self) -> str:
        """``x_indicator``."""
        return f"{self.categorical_column.name}_indicator"

    def needs(self) -> tuple[Need, ...]:
        """List the categories' features."""
        return self.categorical_column.needs()

    def check_files(self) -> None:
        """See that the files of the categories are there."""
        self.categorical_column.check_files()

    def build(self) -> Any:
        """Make the ``indicator_column``."""
        return engine.tf.feature_column.indicator_column(self.categorical_column.build())

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean."""
        return {
            "kind": self.kind,
            "name": self.name,
            "categorical_column": self.categorical_column.structure(),
        }


@dataclass(frozen=True)
class Embedding(FeatureColumn, kind="embedding"):
    """A learned vector per category.

    Args:
        categorical_column: The categories.
        dimension: Length of the vectors, at least 1.
        combiner: "mean", "sqrtn" or "sum": how several categories of a row are joined.
        initializer: Starting values; None for a truncated normal with standard deviation 1 / sqrt(dimension).
        ckpt_to_load_from: Checkpoint that holds trained vectors, or None.
        tensor_name_in_ckpt: Their name in that checkpoint.
        max_norm: Longest vector; None for no limit.
        trainable: Whether training changes the vectors.

    Raises:
        ModelError: categorical_column is no categorical column, or only one of ckpt_to_load_from and
            tensor_name_in_ckpt is given.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/feature_column/embedding_column
    """

    categorical_column: FeatureColumn
    dimension: int
    combiner: str = "mean"
    initializer: Initializer | None = None
    ckpt_to_load_from: str | None = None
    tensor_name_in_ckpt: str | None = None
    max_norm: float | None = None
    trainable: bool = True

    def __post_init__(self) -> None:
        """Refuse what TensorFlow would refuse."""
        check_categorical(self.categorical_column, "column_embedding()")
        if (self.ckpt_to_load_from is None) != (self.tensor_name_in_ckpt is None):
            raise ModelError(
                f"{self.name} has only one of `ckpt_to_load_from` and `tensor_name_in_ckpt`.",
                "Give both, or none.",
                argument="ckpt_to_load_from",
                value=str(self.ckpt_to_load_from),
            )

    @property
    def name(self) -> str:
        """``x_embedding``."""
        return f"{self.categorical_column.name}_embedding"

    def needs(self) -> tuple[Need, ...]:
        """List the categories' features."""
        return self.categorical_column.needs()

    def check_files(self) -> None:
        """See that the files of the categories are there."""
        self.categorical_column.check_files()

    def build(self) -> Any:
        """Make the ``embedding_column``."""
        return engine.tf.feature_column.embedding_column(
            self.categorical_column.build(),
            self.dimension,
            combiner=self.combiner,
            initializer=None if self.initializer is None else self.initializer.build(),
            ckpt_to_load_from=self.ckpt_to_load_from,
            tensor_name_in_ckpt=self.tensor_name_in_ckpt,
            max_norm=self.max_norm,
            trainable=self.trainable,
        )

    def structure(self) -> dict[str, Any]:
        """Describe what the weights mean."""
        return {
            "kind": self.kind,
            "name": self.name,
            "categorical_column": self.categorical_column.structure(),
            "dimension": self.dimension,
            "combiner": self.combiner,
            "trainable": self.trainable,
        }
