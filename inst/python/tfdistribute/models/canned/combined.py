"""Wide and deep models: a linear part and hidden layers, trained together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute.models.canned.description import Canned, Classifier, Regressor, activation
from tfdistribute.models.canned.parts import built, check_deep, check_wide
from tfdistribute.models.feature_columns.description import FeatureColumn
from tfdistribute.models.optimizers import ADAGRAD, FTRL, Optimizer

# TensorFlow's defaults: canned/dnn_linear_combined.py of tensorflow_estimator.
DNN_LEARNING_RATE = 0.001
LINEAR_LEARNING_RATE = 0.005


@dataclass(frozen=True)
class Combined(Canned):
    """A linear part, a deep part, or both.

    Args:
        linear_feature_columns: Columns of the linear part.
        linear_optimizer: What changes the linear part's weights.
        dnn_feature_columns: Columns of the deep part.
        dnn_optimizer: What changes the deep part's weights.
        dnn_hidden_units: Units per hidden layer.
        dnn_activation_fn: Name or function that each hidden layer applies.
        dnn_dropout: Share of units left out in training; None for none.
        batch_norm: Whether to normalise each hidden layer's values over the batch.
        linear_sparse_combiner: "sum", "mean" or "sqrtn": how several categories of a row are joined.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/DNNLinearCombinedRegressor
    """

    linear_feature_columns: tuple[FeatureColumn, ...] = ()
    linear_optimizer: Optimizer = FTRL
    dnn_feature_columns: tuple[FeatureColumn, ...] = ()
    dnn_optimizer: Optimizer = ADAGRAD
    dnn_hidden_units: tuple[int, ...] = ()
    dnn_activation_fn: str | Callable[..., Any] = "relu"
    dnn_dropout: float | None = None
    batch_norm: bool = False
    linear_sparse_combiner: str = "sum"

    def __post_init__(self) -> None:
        """Refuse what no data could make right."""
        if not self.dnn_feature_columns:
            check_wide(self.linear_feature_columns, "linear_feature_columns")
        else:
            check_deep(
                self.dnn_feature_columns,
                self.dnn_hidden_units,
                "dnn_feature_columns",
                "dnn_hidden_units",
            )
        super().__post_init__()

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        """List the columns of both parts."""
        return {
            "linear_feature_columns": self.linear_feature_columns,
            "dnn_feature_columns": self.dnn_feature_columns,
        }

    def arguments(self) -> dict[str, Any]:
        """Make the columns, layers and optimizers of both parts."""
        # With no columns at all the linear part is left out, and the rate is not used.
        width = max(1, len(self.linear_feature_columns))
        linear_rate = min(LINEAR_LEARNING_RATE, 1 / math.sqrt(width))
        return {
            "linear_feature_columns": built(self.linear_feature_columns) or None,
            "linear_optimizer": self.linear_optimizer.factory(linear_rate),
            "dnn_feature_columns": built(self.dnn_feature_columns) or None,
            "dnn_optimizer": self.dnn_optimizer.factory(DNN_LEARNING_RATE),
            "dnn_hidden_units": list(self.dnn_hidden_units),
            "dnn_activation_fn": activation(self.dnn_activation_fn),
            "dnn_dropout": self.dnn_dropout,
            "batch_norm": self.batch_norm,
            "linear_sparse_combiner": self.linear_sparse_combiner,
        }

    def own_structure(self) -> dict[str, Any]:
        """Describe layers and optimizers."""
        named = isinstance(self.dnn_activation_fn, str)
        return {
            "dnn_hidden_units": list(self.dnn_hidden_units),
            "dnn_activation_fn": self.dnn_activation_fn if named else "function",
            "batch_norm": self.batch_norm,
            "linear_sparse_combiner": self.linear_sparse_combiner,
            "optimizer": {
                "linear": self.linear_optimizer.structure()
                if self.linear_feature_columns
                else None,
                "dnn": self.dnn_optimizer.structure() if self.dnn_feature_columns else None,
            },
        }


@dataclass(frozen=True)
class DNNLinearCombinedRegressor(Combined, Regressor, kind="dnn_linear_combined_regressor"):
    """Wide and deep regression."""

    estimator: ClassVar[str] = "DNNLinearCombinedRegressor"


@dataclass(frozen=True)
class DNNLinearCombinedClassifier(Combined, Classifier, kind="dnn_linear_combined_classifier"):
    """Wide and deep classification."""

    estimator: ClassVar[str] = "DNNLinearCombinedClassifier"
