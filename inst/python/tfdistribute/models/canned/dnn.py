"""Deep models: layers that are fully connected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute.models.canned.description import Canned, Classifier, Regressor, activation
from tfdistribute.models.canned.parts import built, check_deep
from tfdistribute.models.feature_columns.description import FeatureColumn
from tfdistribute.models.optimizers import ADAGRAD, Optimizer


@dataclass(frozen=True)
class Deep(Canned):
    """Hidden layers between columns and prediction.

    Args:
        hidden_units: Units per hidden layer.
        feature_columns: Columns that layers can take.
        optimizer: What changes the weights.
        activation_fn: Name or function that each hidden layer applies.
        dropout: Share of units left out in training; None for none.
        batch_norm: Whether to normalise each hidden layer's values over the batch.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/DNNRegressor
    """

    hidden_units: tuple[int, ...] = ()
    feature_columns: tuple[FeatureColumn, ...] = ()
    optimizer: Optimizer = ADAGRAD
    activation_fn: str | Callable[..., Any] = "relu"
    dropout: float | None = None
    batch_norm: bool = False

    def __post_init__(self) -> None:
        """Refuse what no data could make right."""
        check_deep(self.feature_columns, self.hidden_units, "feature_columns", "hidden_units")
        super().__post_init__()

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        """List the columns."""
        return {"feature_columns": self.feature_columns}

    def arguments(self) -> dict[str, Any]:
        """Make columns, layers and optimizer."""
        return {
            "hidden_units": list(self.hidden_units),
            "feature_columns": built(self.feature_columns),
            # Without a learning rate of its own the optimizer keeps Keras's, as TensorFlow 2's deep models do.
            "optimizer": self.optimizer.factory(None),
            "activation_fn": activation(self.activation_fn),
            "dropout": self.dropout,
            "batch_norm": self.batch_norm,
        }

    def own_structure(self) -> dict[str, Any]:
        """Describe layers and optimizer."""
        return {
            "hidden_units": list(self.hidden_units),
            "activation_fn": self.activation_fn
            if isinstance(self.activation_fn, str)
            else "function",
            "batch_norm": self.batch_norm,
            "optimizer": self.optimizer.structure(),
        }


@dataclass(frozen=True)
class DNNRegressor(Deep, Regressor, kind="dnn_regressor"):
    """Deep regression."""

    estimator: ClassVar[str] = "DNNRegressor"


@dataclass(frozen=True)
class DNNClassifier(Deep, Classifier, kind="dnn_classifier"):
    """Deep classification."""

    estimator: ClassVar[str] = "DNNClassifier"
