"""Models that ignore the features: what every other model must beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts
from tfdistribute.models.canned.description import Canned, Classifier, Regressor
from tfdistribute.models.feature_columns.description import FeatureColumn, safe_key
from tfdistribute.models.optimizers import FTRL, Optimizer

# TensorFlow's default: canned/baseline.py of tensorflow_estimator.
LEARNING_RATE = 0.3


@dataclass(frozen=True)
class Baseline(Canned):
    """The mean of the labels, or the share of each class.

    Args:
        optimizer: What changes the one bias per output.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/BaselineRegressor
    """

    optimizer: Optimizer = FTRL

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        """List no columns: no feature is read."""
        return {}

    def arguments(self) -> dict[str, Any]:
        """Make the optimizer."""
        return {"optimizer": self.optimizer.factory(LEARNING_RATE)}

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        """Count the serialised examples; nothing is read from them."""
        return engine.model_functions.count_examples

    def adapt(self, estimator: Any) -> None:
        """Put the repairs in place; several features are one too many for TensorFlow's baseline."""
        weight_key = None if self.weight_column is None else safe_key(self.weight_column)
        engine.model_functions.only_row_count(estimator, weight_key)
        super().adapt(estimator)

    def own_structure(self) -> dict[str, Any]:
        """Describe the optimizer."""
        return {"optimizer": self.optimizer.structure()}


@dataclass(frozen=True)
class BaselineRegressor(Baseline, Regressor, kind="baseline_regressor"):
    """The mean of the labels."""

    estimator: ClassVar[str] = "BaselineRegressor"


@dataclass(frozen=True)
class BaselineClassifier(Baseline, Classifier, kind="baseline_classifier"):
    """The share of each class."""

    estimator: ClassVar[str] = "BaselineClassifier"
