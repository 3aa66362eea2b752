"""Wide and deep models: a linear part and hidden layers, trained jointly."""

import math
from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions.constraints import Count
from tfdistribute.errors import ModelError
from tfdistribute.models.canned.activations import (
    activation_name,
    find_activation,
    keras_activation,
)
from tfdistribute.models.canned.classifier import Classifier
from tfdistribute.models.canned.description import Canned, Combiner, Regressor
from tfdistribute.models.canned.parts import (
    Activation,
    Dropout,
    build_columns,
    build_linear_columns,
    check_columns,
    check_layers,
)
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.parts import deep, linear
from tfdistribute.models.conversion.program import Result
from tfdistribute.models.feature_columns.description import FeatureColumn
from tfdistribute.models.optimizers import ADAGRAD, FTRL, Optimizer

# TensorFlow's defaults: canned/dnn_linear_combined.py of tensorflow_estimator.
DNN_LEARNING_RATE = 0.001
LINEAR_LEARNING_RATE = 0.005


@dataclass(frozen=True)
class Combined(Canned):
    """Fields that several kinds share.

    Args:
        linear_feature_columns, dnn_feature_columns: Columns that each part reads, from [feature_columns()]. NULL omits
            the part. In the deep part, categorical columns must be wrapped in [column_indicator()] or
            [column_embedding()].
        linear_optimizer, dnn_optimizer: Optimizer of each part: a name, a list or a function. See [optimizers].
        dnn_hidden_units, dnn_activation_fn, dnn_dropout: These correspond to `hidden_units`, `activation_fn` and
            `dropout` in [dnn_regressor()].
        batch_norm: Whether the values of each hidden layer are normalized over the batch, TRUE or FALSE. Under a
            strategy, each device normalizes over its own part of the batch.
        linear_sparse_combiner: How several categories of one row are combined: `"sum"`, `"mean"` or `"sqrtn"`.
    """

    linear_feature_columns: tuple[FeatureColumn, ...] = ()
    linear_optimizer: Optimizer = FTRL
    dnn_feature_columns: tuple[FeatureColumn, ...] = ()
    dnn_optimizer: Optimizer = ADAGRAD
    dnn_hidden_units: tuple[Count, ...] = ()
    dnn_activation_fn: Activation = "relu"
    dnn_dropout: Dropout | None = None
    batch_norm: bool = False
    linear_sparse_combiner: Combiner = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dnn_feature_columns:
            columns, units = self.dnn_feature_columns, self.dnn_hidden_units
            check_layers(columns, units, prefix="dnn_")
        elif self.linear_feature_columns:
            check_columns(self.linear_feature_columns, "linear_feature_columns")
        else:
            raise ModelError(
                "Both `linear_feature_columns` and `dnn_feature_columns` are empty.",
                "Give at least one column.",
                argument="linear_feature_columns",
            )

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        return {
            "linear_feature_columns": self.linear_feature_columns,
            "dnn_feature_columns": self.dnn_feature_columns,
        }

    def arguments(self) -> dict[str, Any]:
        return {
            "linear_feature_columns": build_linear_columns(
                self.linear_feature_columns, self.linear_sparse_combiner
            )
            or None,
            "dnn_feature_columns": build_columns(self.dnn_feature_columns) or None,
            **self.made_optimizers(),
            "dnn_hidden_units": list(self.dnn_hidden_units),
            "dnn_activation_fn": find_activation(self.dnn_activation_fn),
            "dnn_dropout": self.dnn_dropout,
            "batch_norm": self.batch_norm,
            "linear_sparse_combiner": self.linear_sparse_combiner,
        }

    def optimizers(self) -> dict[str, tuple[Optimizer, float | None]]:
        found: dict[str, tuple[Optimizer, float | None]] = {}
        if self.linear_feature_columns:
            rate = min(LINEAR_LEARNING_RATE, 1 / math.sqrt(len(self.linear_feature_columns)))
            found["linear_optimizer"] = (self.linear_optimizer, rate)
        if self.dnn_feature_columns:
            found["dnn_optimizer"] = (self.dnn_optimizer, DNN_LEARNING_RATE)
        return found

    def logits(self, features: Features) -> Result:
        parts: list[Result] = []
        if self.dnn_feature_columns:
            activation = keras_activation(self.dnn_activation_fn)
            settings = self.dnn_hidden_units, activation, self.dnn_dropout, self.batch_norm
            parts.append(deep(features, self.dnn_feature_columns, self.units, *settings))
        if self.linear_feature_columns:
            columns, combiner = self.linear_feature_columns, self.linear_sparse_combiner
            parts.append(linear(features, columns, self.units, combiner))
        return features.program.add(parts)

    def own_structure(self) -> dict[str, Any]:
        linear = self.linear_optimizer.structure() if self.linear_feature_columns else None
        return {
            "dnn_hidden_units": list(self.dnn_hidden_units),
            "dnn_activation_fn": activation_name(self.dnn_activation_fn),
            "batch_norm": self.batch_norm,
            "linear_sparse_combiner": self.linear_sparse_combiner,
            "optimizer": {
                "linear": linear,
                "dnn": self.dnn_optimizer.structure() if self.dnn_feature_columns else None,
            },
        }


@dataclass(frozen=True)
class DNNLinearCombinedRegressor(Combined, Regressor, kind="dnn_linear_combined_regressor"): ...


@dataclass(frozen=True)
class DNNLinearCombinedClassifier(Combined, Classifier, kind="dnn_linear_combined_classifier"): ...
