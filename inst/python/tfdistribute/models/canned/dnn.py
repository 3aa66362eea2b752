"""Deep models: fully connected layers."""

from dataclasses import dataclass
from typing import Annotated, Any

from tfdistribute.descriptions.constraints import Count, Len
from tfdistribute.models.canned.activations import (
    activation_name,
    find_activation,
    keras_activation,
)
from tfdistribute.models.canned.classifier import Classifier
from tfdistribute.models.canned.description import Canned, Regressor
from tfdistribute.models.canned.parts import (
    Activation,
    Dropout,
    build_columns,
    check_layers,
)
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.parts import deep
from tfdistribute.models.conversion.program import Result
from tfdistribute.models.feature_columns.description import FeatureColumn
from tfdistribute.models.optimizers import ADAGRAD, Optimizer


@dataclass(frozen=True)
class Deep(Canned):
    """Fields that several kinds share.

    Args:
        hidden_units: Units of each hidden layer, counts: `c(64, 32)` makes two layers.
        feature_columns: Columns that the model reads, from [feature_columns()].
        optimizer: Optimizer of the weights: a name, a list or a function. See [optimizers].
        activation_fn: Activation function of the hidden layers: a function of a tensor, or a name
            ({activations}).
        dropout: Share of units that each training step omits, a number below 1. NULL omits none.
        batch_norm: Whether the values of each hidden layer are normalized over the batch, TRUE or FALSE. Under a
            strategy, each device normalizes over its own part of the batch.
    """

    hidden_units: Annotated[tuple[Count, ...], Len(1)] = ()
    feature_columns: tuple[FeatureColumn, ...] = ()
    optimizer: Optimizer = ADAGRAD
    activation_fn: Activation = "relu"
    dropout: Dropout | None = None
    batch_norm: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_layers(self.feature_columns, self.hidden_units)

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        return {"feature_columns": self.feature_columns}

    def arguments(self) -> dict[str, Any]:
        return {
            "hidden_units": list(self.hidden_units),
            "feature_columns": build_columns(self.feature_columns),
            **self.made_optimizers(),
            "activation_fn": find_activation(self.activation_fn),
            "dropout": self.dropout,
            "batch_norm": self.batch_norm,
        }

    def optimizers(self) -> dict[str, tuple[Optimizer, float | None]]:
        # TensorFlow 2's deep models use Keras's default learning rate.
        return {"optimizer": (self.optimizer, None)}

    def logits(self, features: Features) -> Result:
        activation = keras_activation(self.activation_fn)
        settings = self.hidden_units, activation, self.dropout, self.batch_norm
        return deep(features, self.feature_columns, self.units, *settings)

    def own_structure(self) -> dict[str, Any]:
        return {
            "hidden_units": list(self.hidden_units),
            "activation_fn": activation_name(self.activation_fn),
            "batch_norm": self.batch_norm,
            "optimizer": self.optimizer.structure(),
        }


@dataclass(frozen=True)
class DNNRegressor(Deep, Regressor, kind="dnn_regressor"): ...


@dataclass(frozen=True)
class DNNClassifier(Deep, Classifier, kind="dnn_classifier"): ...
