"""Linear models."""

from dataclasses import dataclass
from typing import Any

from tfdistribute.models.canned.classifier import Classifier
from tfdistribute.models.canned.description import Canned, Combiner, Regressor
from tfdistribute.models.canned.parts import build_linear_columns, check_columns
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.parts import linear
from tfdistribute.models.conversion.program import Result
from tfdistribute.models.feature_columns.description import FeatureColumn
from tfdistribute.models.optimizers import FTRL, Optimizer

# TensorFlow's default for linear models: canned/linear.py of tensorflow_estimator.
LEARNING_RATE = 0.2


@dataclass(frozen=True)
class Linear(Canned):
    """Fields that several kinds share.

    Args:
        feature_columns: Columns that the model reads, from [feature_columns()].
        optimizer: Optimizer of the weights: a name, a list or a function. See [optimizers].
        sparse_combiner: How several categories of one row are combined: `"sum"`, `"mean"` or `"sqrtn"`.
    """

    feature_columns: tuple[FeatureColumn, ...] = ()
    optimizer: Optimizer = FTRL
    sparse_combiner: Combiner = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.feature_columns, "feature_columns")

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        return {"feature_columns": self.feature_columns}

    def arguments(self) -> dict[str, Any]:
        return {
            "feature_columns": build_linear_columns(self.feature_columns, self.sparse_combiner),
            **self.made_optimizers(),
            "sparse_combiner": self.sparse_combiner,
        }

    def optimizers(self) -> dict[str, tuple[Optimizer, float | None]]:
        return {"optimizer": (self.optimizer, LEARNING_RATE)}

    def logits(self, features: Features) -> Result:
        return linear(features, self.feature_columns, self.units, self.sparse_combiner)

    def own_structure(self) -> dict[str, Any]:
        return {"sparse_combiner": self.sparse_combiner, "optimizer": self.optimizer.structure()}


@dataclass(frozen=True)
class LinearRegressor(Linear, Regressor, kind="linear_regressor"): ...


@dataclass(frozen=True)
class LinearClassifier(Linear, Classifier, kind="linear_classifier"): ...
