"""Baseline models, which ignore the features; any other model should do better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import UnsupportedError
from tfdistribute.models.canned.classifier import Classifier
from tfdistribute.models.canned.description import Canned, Regressor
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.parts import bias
from tfdistribute.models.conversion.program import Result
from tfdistribute.models.feature_columns.description import FeatureColumn
from tfdistribute.models.optimizers import FTRL, Optimizer

# TensorFlow's default: canned/baseline.py of tensorflow_estimator.
LEARNING_RATE = 0.3


@dataclass(frozen=True)
class Baseline(Canned):
    """Fields that several kinds share.

    Args:
        optimizer: Optimizer of the weights: a name, a list or a function. See [optimizers].
    """

    optimizer: Optimizer = FTRL

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        return {}

    def arguments(self) -> dict[str, Any]:
        return self.made_optimizers()

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        return _count_examples

    def estimator_options(self) -> dict[str, Any]:
        return {**super().estimator_options(), "only_row_count": True}

    def optimizers(self) -> dict[str, tuple[Optimizer, float | None]]:
        return {"optimizer": (self.optimizer, LEARNING_RATE)}

    def logits(self, features: Features) -> Result:
        if not features.facts:
            raise UnsupportedError(
                "A baseline model counts rows, and the features of its training are not known.",
                "Train it on an input_fn() with columns.",
                argument="object",
            )
        program, name = features.program, next(iter(features.facts))
        tensor = features.tensor(name)
        if features.dtype(name) == "string":
            tensor = program.layer("Hashing", tensor, num_bins=1)
        return bias(program, tensor, self.units, "baseline/bias")

    def own_structure(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.structure()}


@dataclass(frozen=True)
class BaselineRegressor(Baseline, Regressor, kind="baseline_regressor"): ...


@dataclass(frozen=True)
class BaselineClassifier(Baseline, Classifier, kind="baseline_classifier"): ...


def _count_examples() -> Any:
    tf = engine.tf
    examples = tf.compat.v1.placeholder(tf.string, [None], name="input_example_tensor")
    return tf.estimator.export.ServingInputReceiver({"examples": examples}, {"examples": examples})
