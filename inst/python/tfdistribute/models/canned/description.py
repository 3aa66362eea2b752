"""Base class of the canned models: TensorFlow's ready-made Estimators."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts, InputFacts, ReadTypes
from tfdistribute.descriptions.constraints import Count, Fact, Text
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.program import Program, Result
from tfdistribute.models.description import (
    LOSS_REDUCTIONS,
    LossReduction,
    Model,
    TrainedFeatures,
)
from tfdistribute.models.feature_columns.derived import check_shared
from tfdistribute.models.feature_columns.description import (
    NUMBERS,
    TEXT,
    FeatureColumn,
    FeatureRequirement,
    check_distinct,
    check_names,
    safe_key,
)
from tfdistribute.models.features import check_features, check_weights
from tfdistribute.models.labels import (
    check_regression_label,
    response_scale,
)
from tfdistribute.models.optimizers import Optimizer
from tfdistribute.models.serving import examples_receiver
from tfdistribute.models.warm_start import WarmStart

Combiner = Literal["sum", "mean", "sqrtn"]


@dataclass(frozen=True)
class Canned(Model):
    """A ready-made Estimator; classes for a verb have the names of TensorFlow's.

    Args:
        weight_column: Feature that contains the weight of each row in the loss, a string. NULL for equal weights.
        loss_reduction: `"sum_over_batch_size"` or `"sum"`. See [estimators].
        warm_start_from: Initial weights of the first training: the path of a trained model's `model_dir`, of a
            checkpoint or of an export, or an estimator. It can also be a list with one of these as
            `ckpt_to_initialize_from`, and optionally `vars_to_warm_start` (regular expressions for variables) and
            `var_name_to_prev_var_name` (a list of names in the checkpoint, named by this model's variables). NULL for
            new variables. A model with a checkpoint continues from its checkpoint instead. Weights and vectors of a
            vocabulary list follow their categories by name, and new categories begin with 0. Any other difference that
            changes the meaning of a weight, such as another `center`, is an error.
    """

    weight_column: Annotated[Text | None, Fact.NAME] = None
    loss_reduction: LossReduction = "sum_over_batch_size"
    warm_start_from: WarmStart | None = None

    decided_by_rows: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        for argument, columns in self.columns().items():
            check_distinct(columns, argument)
            check_shared(columns, argument)
        # The parts share the features, so keys must be distinct over all parts.
        check_names(
            dict.fromkeys(each.feature for each in self.required_features()),
            "feature_columns",
            "feature",
        )

    @classmethod
    def argument(cls, field: str) -> str | None:
        """Return the name of a field for a remedy; None if users cannot give it, because the rows decide it."""
        return None if field in cls.decided_by_rows else field

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        raise NotImplementedError

    def arguments(self) -> dict[str, Any]:
        raise NotImplementedError

    def own_structure(self) -> dict[str, Any]:
        raise NotImplementedError

    def weights_of(self, facts: InputFacts) -> str | None:
        return self.weight_column or super().weights_of(facts)

    @property
    def units(self) -> int:
        """Numbers per row before the loss."""
        raise NotImplementedError

    def logits(self, features: Features) -> Result:
        raise NotImplementedError

    def outputs(self, program: Program, logits: Result) -> dict[str, Result]:
        raise NotImplementedError

    def optimizers(self) -> dict[str, tuple[Optimizer, float | None]]:
        """Return the optimizers of the parts by their arguments, and their usual learning rates."""
        return {}

    def made_optimizers(self) -> dict[str, Callable[[], Any]]:
        return {name: each.factory(rate) for name, (each, rate) in self.optimizers().items()}

    def head_arguments(self) -> dict[str, Any]:
        raise NotImplementedError

    def keras_program(self, known: TrainedFeatures) -> Program:
        required = self.required_features()
        names = {*(each.feature for each in required), *(known.facts or ())}
        program = Program(known.is_portable, names)
        logits = self.logits(Features(program, required, *known[:3]))
        program.outputs.update(self.outputs(program, logits))
        return program

    def as_keras_model(self, known: TrainedFeatures, read: Callable[[str], Any]) -> Any:
        keras = engine.keras.keras_3()
        program = self.keras_program(known)
        with engine.keras.fresh_names(program.names):
            model = program.make_model(keras)
        program.set_weights(model, read)
        return model

    def encoders(self, known: TrainedFeatures) -> Mapping[str, Any]:
        return self.keras_program(known).encoders

    def all_columns(self) -> list[FeatureColumn]:
        return [column for columns in self.columns().values() for column in columns]

    def required_features(self) -> tuple[FeatureRequirement, ...]:
        required = [each for column in self.all_columns() for each in column.requirements()]
        if self.weight_column is not None:
            remedy = "Weights must be numbers."
            required.append(
                FeatureRequirement(self.weight_column, NUMBERS, 1, "weight_column", remedy)
            )
        return tuple(required)

    def reads(self, feature: str) -> bool:
        return any(each.feature == feature for each in self.required_features())

    def types_read(self) -> ReadTypes:
        types: dict[str | None, str] = {}
        for each in self.required_features():
            if "float" not in each.types and "integer64" in each.types:
                types[each.feature] = "integer64"
            elif each.wide:
                types.setdefault(each.feature, "double")
        return types

    def build(self, config: Any) -> Any:
        arguments, start = self.arguments(), self.warm_start_from
        weight_key = None if self.weight_column is None else safe_key(self.weight_column)
        is_mean = self.loss_reduction == LOSS_REDUCTIONS[0]
        head = {
            "weight_column": weight_key,
            "loss_reduction": getattr(engine.tf.losses.Reduction, self.loss_reduction.upper()),
            **self.head_arguments(),
        }
        estimator = self.new_estimator(
            head,
            model_dir=self.model_dir,
            config=config,
            **arguments,
            **({} if start is None else {"warm_start_from": start.build()}),
        )
        options = engine.estimator.EstimatorOptions(
            kind="canned",
            reads_matrices=True,
            columns=self.built_columns(arguments),
            feature_keys={
                each.feature: safe_key(each.feature) for each in self.required_features()
            },
            weight_key=weight_key,
            reports_mean_loss=True,
            row_loss="average_loss" if is_mean and self.weight_column is None else None,
            sums_loss=not is_mean,
            as_written=not self.has_functions(),
            **self.estimator_options(),
        )
        return engine.estimator.adopt(estimator, options)

    def built_columns(self, arguments: Mapping[str, Any]) -> list[Any]:
        return [column for part in self.columns() for column in arguments[part] or ()]

    def new_estimator(self, head: Mapping[str, Any], **arguments: Any) -> Any:
        return getattr(engine.tf.estimator, type(self).__name__)(**head, **arguments)

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        return examples_receiver(self.all_columns(), features)

    def estimator_options(self) -> dict[str, Any]:
        return {}

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        for column in self.all_columns():
            column.check_files()
        if needs_label:
            check_weights(facts, self.weight_column)
        if facts.features is not None:
            required = self.required_features()
            if not needs_label and self.weight_column is not None:
                # Weights only affect the loss, which needs labels.
                required = tuple(each for each in required if each.feature != self.weight_column)
            weights = {} if facts.weights is None else {facts.weights.name: facts.weights}
            check_features(required, {**facts.features, **weights})

    def coded_features(self, factors: Collection[str]) -> set[str]:
        types: dict[str, set[str]] = {}
        for each in self.required_features():
            types.setdefault(each.feature, set()).update(each.types)
        return {name for name in factors if name in types and not types[name] & set(TEXT)}

    def complete_from_input(self, facts: InputFacts) -> Model:
        weights = self.weights_of(facts)
        return self if weights == self.weight_column else replace(self, weight_column=weights)

    def structure(self) -> dict[str, Any]:
        columns = {
            argument: [column.structure() for column in columns]
            for argument, columns in self.columns().items()
        }
        return {"kind": self.kind, **columns, **self.own_structure()}


@dataclass(frozen=True)
class Regressor(Canned):
    """A model of numbers, which may learn the standardized response, and reports in the unit of the response.

    Args:
        label_dimension: Numbers per row of the response, a count.
        standardize_response: Whether the model learns the response minus its mean, divided by its standard deviation,
            TRUE or FALSE. Losses, predictions, evaluations and `coef()` have the unit of the response. The first
            training computes both numbers from its rows, which must be in memory, and `model_dir` keeps them. Such a
            model reads the response in 64 bits, and others in 32. NULL standardizes if the first training has a formula
            and rows in memory.
    """

    label_dimension: Count = 1
    # None standardizes if the model in ``model_dir`` does.
    standardize_response: bool | None = None
    # Mean and standard deviation of each response in the first training.
    response_scale: Annotated[tuple[tuple[float, float], ...] | None, Fact.INTERNAL] = None

    def head_arguments(self) -> dict[str, Any]:
        return {"label_dimension": self.label_dimension}

    def new_estimator(self, head: Mapping[str, Any], **arguments: Any) -> Any:
        if self.response_scale is None:
            return super().new_estimator(head, **arguments)
        name = type(self).__name__.replace("Regressor", "Estimator")
        standardized = engine.heads.StandardizedRegressionHead(self.response_scale, **head)
        return getattr(engine.tf.estimator, name)(head=standardized, **arguments)

    def types_read(self) -> ReadTypes:
        # A mean that is subtracted in 32 bits takes the digits of the response with it.
        standardizes = self.standardize_response or self.response_scale is not None
        return {**super().types_read(), **({None: "double"} if standardizes else {})}

    def complete_from_input(self, facts: InputFacts) -> Model:
        completed = super().complete_from_input(facts)
        if not self.standardize_response or self.response_scale or facts.label is None:
            return completed
        scale = response_scale(facts, facts.label, self.weights_of(facts))
        return replace(completed, response_scale=scale)

    def complete_from_signature(self, signature: Mapping[str, Any] | None) -> Model:
        scale = (signature or {}).get("response_scale")
        if scale is None or self.standardize_response is False:
            return self
        return replace(self, response_scale=tuple((mean, spread) for mean, spread in scale))

    @property
    def units(self) -> int:
        return self.label_dimension

    def outputs(self, program: Program, logits: Result) -> dict[str, Result]:
        if self.response_scale is not None:
            means, spreads = (np.array(each) for each in zip(*self.response_scale, strict=True))
            settings = {"scale": spreads, "offset": means, "dtype": "float64"}
            logits = program.layer("Rescaling", logits, **settings, name="unit")
        return {"predictions": logits}

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        super().check(facts, needs_label)
        if needs_label:
            check_regression_label(facts, self.label_dimension, self.argument("label_dimension"))

    def structure(self) -> dict[str, Any]:
        scale = {} if self.response_scale is None else {"response_scale": self.response_scale}
        return {**super().structure(), "label_dimension": self.label_dimension, **scale}
