"""What TensorFlow's ready-made Estimators share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.errors import ModelError
from tfdistribute.models.description import Model
from tfdistribute.models.feature_columns.description import (
    NUMBERS,
    FeatureColumn,
    Need,
    check_distinct,
    check_names,
    safe_key,
)
from tfdistribute.models.features import check_features, check_weights
from tfdistribute.models.labels import check_class_label, check_regression_label, check_vocabulary
from tfdistribute.models.serving import examples_receiver
from tfdistribute.models.warm_start import WarmStart

LOSS_REDUCTIONS = ("sum_over_batch_size", "sum")


@dataclass(frozen=True)
class Canned(Model):
    """A ready-made Estimator: a head on top of parts that read feature columns.

    Members add fields, name TensorFlow's class, and say which columns and arguments they have.

    Args:
        model_dir: Directory of the model's checkpoints.
        weight_column: Feature that holds each row's weight in the loss, or None.
        loss_reduction: "sum_over_batch_size" or "sum".
        warm_start_from: What the first training begins with, or None for new variables.

    Raises:
        ModelError: columns are missing or clash, or a layer is given a bare categorical column.
    """

    estimator: ClassVar[str]

    weight_column: str | None = None
    loss_reduction: str = "sum_over_batch_size"
    warm_start_from: WarmStart | None = None

    def __post_init__(self) -> None:
        """Refuse what no data could make right."""
        if self.loss_reduction not in LOSS_REDUCTIONS:
            raise ModelError(
                f'`loss_reduction` "{self.loss_reduction}" is not known.',
                f"Use one of {', '.join(LOSS_REDUCTIONS)}.",
                argument="loss_reduction",
                value=self.loss_reduction,
            )
        for argument, columns in self.columns().items():
            check_distinct(columns, argument)
        # Parts of a model share the features, so their keys must be distinct over all parts.
        check_names(
            dict.fromkeys(need.feature for need in self.needed_features()),
            "feature_columns",
            "feature",
        )

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        """List the feature columns of each part, by the argument that holds them."""
        raise NotImplementedError

    def arguments(self) -> dict[str, Any]:
        """Make the arguments of TensorFlow's class that only this member has."""
        raise NotImplementedError

    def own_structure(self) -> dict[str, Any]:
        """Describe what only this member's checkpoints hold."""
        raise NotImplementedError

    def head_arguments(self) -> dict[str, Any]:
        """Make the arguments of TensorFlow's class that say what is predicted."""
        raise NotImplementedError

    def beginning(self) -> dict[str, Any]:
        """Make the argument of TensorFlow's class that says what the first training begins with."""
        return (
            {}
            if self.warm_start_from is None
            else {"warm_start_from": self.warm_start_from.build()}
        )

    def needed_features(self) -> tuple[Need, ...]:
        """List the features of all columns, and the weights."""
        needs = [
            need
            for columns in self.columns().values()
            for column in columns
            for need in column.needs()
        ]
        if self.weight_column is not None:
            needs.append(
                Need(self.weight_column, NUMBERS, 1, "weight_column", "Weights must be numbers.")
            )
        return tuple(needs)

    def build(self, config: Any) -> Any:
        """Make the Estimator, with true mean losses and with features by their own names.

        Args:
            config: A ``tf.estimator.RunConfig``.

        Returns:
            A ``tf.estimator.Estimator``.

        Raises:
            ModelError: the optimizer is one that canned models cannot use.
        """
        arguments = self.arguments()
        weight_key = None if self.weight_column is None else safe_key(self.weight_column)
        estimator = getattr(engine.tf.estimator, self.estimator)(
            model_dir=self.model_dir,
            config=config,
            weight_column=weight_key,
            loss_reduction=getattr(engine.tf.losses.Reduction, self.loss_reduction.upper()),
            **self.head_arguments(),
            **arguments,
            **self.beginning(),
        )
        columns = [column for part in self.columns() for column in arguments[part] or ()]
        options = engine.estimator.EstimatorOptions(
            kind="canned",
            reads_matrices=True,
            columns=columns,
            feature_keys={need.feature: safe_key(need.feature) for need in self.needed_features()},
            weight_key=weight_key,
            reports_mean_loss=True,
            row_loss=self._row_loss(),
            **self.estimator_options(),
        )
        return engine.estimator.adopt(estimator, options)

    def _row_loss(self) -> str | None:
        is_mean = self.loss_reduction == LOSS_REDUCTIONS[0]
        return "average_loss" if is_mean and self.weight_column is None else None

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        """Read the columns' features from serialised examples; weights are not needed for predictions."""
        columns = [column for part in self.columns().values() for column in part]
        return examples_receiver(columns, features)

    def estimator_options(self) -> dict[str, Any]:
        """Make the fields of ``EstimatorOptions`` that only this member has."""
        return {}

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """See that data and model fit; files of vocabularies must be there."""
        for columns in self.columns().values():
            for column in columns:
                column.check_files()
        if needs_label:
            check_weights(facts, self.weight_column)
        if facts.features is not None:
            needs = self.needed_features()
            if not needs_label and self.weight_column is not None:
                # Weights belong to the loss, which is not computed without labels.
                needs = tuple(need for need in needs if need.feature != self.weight_column)
            weights = {} if facts.weights is None else {facts.weights.name: facts.weights}
            check_features(needs, {**facts.features, **weights})

    def with_facts(self, facts: InputFacts) -> Model:
        """Weigh rows by the input's weights."""
        if facts.weights is None or self.weight_column is not None:
            return self
        return replace(self, weight_column=facts.weights.name)

    def structure(self) -> dict[str, Any]:
        """Describe the kind, the columns, and what the member adds."""
        columns = {
            argument: [column.structure() for column in columns]
            for argument, columns in self.columns().items()
        }
        return {"kind": self.kind, **columns, **self.own_structure()}


@dataclass(frozen=True)
class Regressor(Canned):
    """A canned model that predicts numbers.

    Args:
        label_dimension: Numbers per row, at least 1.
    """

    label_dimension: int = 1

    def head_arguments(self) -> dict[str, Any]:
        """Say how many numbers are predicted."""
        return {"label_dimension": self.label_dimension}

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """See that the features fit, and that the label is numbers."""
        super().check(facts, needs_label)
        if needs_label:
            check_regression_label(facts, self.label_dimension)

    def structure(self) -> dict[str, Any]:
        """Describe the model and the number of values."""
        return {**super().structure(), "label_dimension": self.label_dimension}


@dataclass(frozen=True)
class Classifier(Canned):
    """A canned model that predicts classes.

    Args:
        n_classes: Number of classes, at least 2.
        label_vocabulary: Names of the classes; None to take a factor's levels, or 0 to n_classes - 1 for numbers.

    Raises:
        ModelError: the number of names is not n_classes.
    """

    n_classes: int = 2
    label_vocabulary: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what no data could make right."""
        super().__post_init__()
        if self.n_classes < 2:
            raise ModelError(
                f"`n_classes` must be at least 2, not {self.n_classes}.",
                "Use a regressor to predict one number.",
                argument="n_classes",
                value=str(self.n_classes),
            )
        check_vocabulary(self.n_classes, self.label_vocabulary)

    def head_arguments(self) -> dict[str, Any]:
        """Say which classes are predicted."""
        vocabulary = None if self.label_vocabulary is None else list(self.label_vocabulary)
        return {"n_classes": self.n_classes, "label_vocabulary": vocabulary}

    def estimator_options(self) -> dict[str, Any]:
        """Number classes that have no names."""
        return {**super().estimator_options(), "whole_labels": self.label_vocabulary is None}

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """See that the features fit, and that the label is classes."""
        super().check(facts, needs_label)
        if needs_label:
            check_class_label(facts, self.n_classes, self.label_vocabulary)

    def with_facts(self, facts: InputFacts) -> Model:
        """Take the names of the classes from the levels of the label, and the weights."""
        label, weighted = facts.label, super().with_facts(facts)
        if (
            self.label_vocabulary is not None
            or label is None
            or label.type != "string"
            or label.levels is None
        ):
            return weighted
        if len(label.levels) != self.n_classes:
            raise ModelError(
                f'`n_classes` is {self.n_classes}, but the response "{label.name}" has {len(label.levels)} levels.',
                f"Give n_classes = {len(label.levels)}, or drop unused levels with droplevels().",
                argument="n_classes",
                value=str(self.n_classes),
            )
        return replace(weighted, label_vocabulary=tuple(label.levels))

    def with_signature(self, signature: Mapping[str, Any] | None) -> Model:
        """Take the names of the classes from the trained model."""
        names = None if signature is None else signature.get("label_vocabulary")
        if self.label_vocabulary is not None or names is None or len(names) != self.n_classes:
            return self
        return replace(self, label_vocabulary=tuple(str(name) for name in names))

    def structure(self) -> dict[str, Any]:
        """Describe the model and its classes."""
        names = None if self.label_vocabulary is None else list(self.label_vocabulary)
        return {**super().structure(), "n_classes": self.n_classes, "label_vocabulary": names}


def activation(value: str | Callable[..., Any]) -> Any:
    """Find an activation function.

    Args:
        value: A name of ``tf.nn`` or ``tf.keras.activations``, or a function.

    Returns:
        A function of a tensor.

    Raises:
        ModelError: the name is not known.
    """
    if not isinstance(value, str):
        return value
    found = getattr(engine.tf.nn, value, None) or getattr(engine.tf.keras.activations, value, None)
    if found is None:
        raise ModelError(
            f'`activation_fn` "{value}" is not known.',
            'Give a name such as "relu", "tanh" or "sigmoid", or a function.',
            argument="activation_fn",
            value=value,
        )
    return found
