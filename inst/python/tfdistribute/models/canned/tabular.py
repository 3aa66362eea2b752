"""Tabular models, which learn their columns and the length of their training from the data."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Count, Expected, Fact, Ge, Gt, Len, Lt, Text
from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.models.canned.activations import keras_activation
from tfdistribute.models.canned.learned import Learned, LearnedRegressor
from tfdistribute.models.canned.parts import (
    ActivationName,
    Dropout,
    build_columns,
    build_linear_columns,
)
from tfdistribute.models.canned.table import (
    Table,
    usual_batch,
    usual_ensemble,
    usual_epochs,
)
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.program import Program, Result
from tfdistribute.models.conversion.tabular import TabularLayers
from tfdistribute.models.feature_columns.description import FeatureColumn

PARTS = ("linear", "layers", "trees")


@dataclass(frozen=True)
class Tabular(Learned):
    """A model that learns from rows in memory what the others are told.

    Args:
        hidden_units: Units of each hidden layer, counts.
        ensemble: Networks that train together and whose mean the layers are, a count. NULL for 2 up to 10,000 rows, and
            else 1.
        dropout: Share of units that each training step omits, a number below 1.
        weight_decay: Factor by which weights shrink in a step, relative to the learning rate, a number.
        learning_rate: Number at which the learning rate peaks. NULL for 0.2 (numbers) or 0.04 (classes), because
            weights are divided by the root of the width of their layer.
        batch_size: Rows of a step over all replicas, a count. NULL for 256, or 512 from 100,000 rows, or 1,024 from
            200,000.
        epochs: Epochs of the training, a count, without a validation. NULL for at most as many as read 524,288 rows,
            but at most 128 and at least 8, of which the validation chooses the end.
        validation: Share of the rows that choose the end, a number below 1. They depend on the `seed` of
            [run_config()], and have the same share of each class. 0 trains to the end of the last cycle. To choose the
            rows yourself, give them to [train()] as `validation`.
        parts: Parts of the model, strings: `"linear"`, `"layers"` and `"trees"`. The validation chooses their weights
            in the mean that predicts, and 0 leaves a part out. Trees need the Python package ydf. With `epochs`, or
            without a validation, the model has layers only.
        time_limit_s: Seconds that the training should take, a number. It is compared with the time of the steps so far,
            so a first part learns in any case. With `epochs`, or without a validation, the time of some steps limits
            how many are trained. NULL sets no limit.
    """

    hidden_units: Annotated[tuple[Count, ...], Len(1)] = (128, 128, 128)
    ensemble: Count | None = None
    dropout: Dropout = 0.15
    weight_decay: Annotated[float, Ge(0)] = 0.02
    learning_rate: Annotated[float, Ge(0)] | None = None
    batch_size: Count | None = None
    epochs: Count | None = None
    validation: Dropout = 0.2
    parts: Annotated[
        Annotated[tuple[Text, ...], Len(1)],
        Fact.NAME,
        Expected('some of "linear", "layers" and "trees"'),
    ] = PARTS
    time_limit_s: Annotated[float, Ge(0)] | None = None

    trainer: ClassVar[str] = "chosen_steps"
    activation: ClassVar[ActivationName] = "selu"
    usual_rate = 0.04

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({*self.parts} & {*PARTS}) < len(self.parts):
            raise ArgumentError(
                f'`parts` must be some of "linear", "layers" and "trees", each once, not {", ".join(self.parts)}.',
                'Leave it out, or give parts = c("linear", "layers").',
                argument="parts",
                value=", ".join(self.parts),
            )
        if "layers" not in self.parts and not self.validates:
            raise ArgumentError(
                '`parts` lacks "layers", and a model with `epochs` or without a validation has no other part.',
                "Leave out `epochs` and `validation`.",
                argument="parts",
                value=", ".join(self.parts),
            )

    @property
    def validates(self) -> bool:
        return self.epochs is None and self.validation > 0

    def _steps(self, rows: int) -> int:
        """Return the steps of all cycles of the rate for a number of rows."""
        of_epoch = math.ceil(rows / self._batch(rows))
        return of_epoch * (usual_epochs(rows) if self.epochs is None else self.epochs)

    def _batch(self, rows: int) -> int:
        return self.batch_size or usual_batch(rows)

    def _members(self, rows: int) -> int:
        return self.ensemble or usual_ensemble(rows)

    def trained_again(self, rows: int) -> "Tabular":
        """Return a model whose next training begins at the end of its last, and takes as many epochs or its own."""
        table, steps = self.table, self._steps(rows)
        assert table is not None and table.end is not None
        ends_of, length = engine.tabular.ends_of_cycles, steps
        if self.epochs is None:
            cycles = sum(each <= table.end - table.begin for each in ends_of(table.steps))
            length = ends_of(steps)[:cycles][-1]
        end, batch_size = table.end + length, self._batch(rows)
        return self.with_table(begin=table.end, end=end, steps=steps, batch_size=batch_size)

    def logits(self, features: Features) -> Result:
        table, parts, program = self.table, self._parts(), features.program
        assert table is not None
        if "trees" in table.weights:
            raise UnsupportedError(
                "This model has boosted trees, which cannot be converted to Keras or ONNX.",
                f'Use export_savedmodel(), or train {self.kind}(parts = c("linear", "layers")).',
                argument="object",
                value=self.kind,
            )
        constants, members = table.constants(), self.ensemble or table.ensemble
        layers = TabularLayers(features, parts["numbers"], constants, self.units, members)
        found: list[Result] = []
        if "layers" in table.weights:
            activation = keras_activation(self.activation)
            deep = layers.deep(parts["categories"], self.hidden_units, activation)
            mean = self.mean_logits(program, deep)
            found.append(program.op("multiply", mean, table.weights["layers"]))
        if "linear" in table.weights:
            linear = layers.linear(parts["linear"])
            found.append(program.op("multiply", linear, table.weights["linear"]))
        return program.op("divide", program.add(found), table.temperature or 1.0)

    def mean_logits(self, program: Program, logits: Result) -> Result:
        """Return the mean logits of the ensemble, which is along the second axis."""
        raise NotImplementedError

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        parts = self._parts()
        return {"feature_columns": (*parts["numbers"], *parts["categories"])}

    def _parts(self) -> Mapping[str, Sequence[Any]]:
        table = self.table
        known = ((), ()) if table is None else (table.numbers, table.categories)
        return _columns_of(*known, self.new_levels)

    def arguments(self) -> dict[str, Any]:
        parts = self._parts()
        return {
            **{part: build_columns(parts[part]) for part in ("numbers", "categories")},
            "linear": build_linear_columns(parts["linear"], "sum"),
            "codes": build_columns([each.categorical_column for each in parts["linear"]]),
        }

    def new_estimator(self, head: Mapping[str, Any], **arguments: Any) -> Any:
        table = self.table
        assert table is not None
        constants, codes = table.constants(), arguments.pop("codes")
        columns = {name: arguments.pop(name) for name in ("numbers", "categories", "linear")}
        read = engine.trees.Columns(columns["numbers"], codes, constants["incomplete"])
        network = engine.tabular.Network(
            **columns,
            **constants,
            hidden_units=self.hidden_units,
            ensemble=self.ensemble or table.ensemble,
            activation=self.activation,
            dropout=self.dropout,
            weight_decay=self.weight_decay,
            learning_rate=self.learning_rate or self.usual_rate,
            steps=table.steps,
            begin=table.begin,
            weights=table.weights,
            temperature=table.temperature or 1.0,
            forest=(read, table.trees),
        )
        model_fn = engine.tabular.make_model_fn(network, self.head(head), head["weight_column"])
        return engine.tf.estimator.Estimator(model_fn, **arguments)

    def new_table(self, table: Table, rows: int) -> Table:
        steps, batch_size = self._steps(rows), self._batch(rows)
        completed = replace(table, batch_size=batch_size, ensemble=self._members(rows), steps=steps)
        return completed if self.validates else replace(completed, end=steps)

    def own_structure(self) -> dict[str, Any]:
        members = self.ensemble or (self.table and self.table.ensemble)
        own = {"hidden_units": list(self.hidden_units), "ensemble": members}
        return {**own, **super().own_structure()}


# Most models of a process have the columns of the one before.
@functools.lru_cache(maxsize=4)
def _columns_of(numbers: Any, categories: Any, new_levels: Any) -> Mapping[str, Sequence[Any]]:
    return {
        "numbers": [each.column() for each in numbers],
        "categories": [each.column(new_levels) for each in categories],
        "linear": [each.column(new_levels, linear=True) for each in categories],
    }


@dataclass(frozen=True)
class TabularRegressor(Tabular, LearnedRegressor, kind="tabular_regressor"):
    """Models that need nothing but data.

    Args:
        quantiles: Quantiles to predict in place of the mean, increasing numbers between 0 and 1, or NULL. Predictions
            are then a list of vectors, with a number for each quantile, in order. `loss` is not used.
        clip: Whether predictions are at least the least and at most the largest response of the training, TRUE or
            FALSE. Layers are unreliable beyond the rows that they learned from. With FALSE, predictions may exceed the
            responses, for example in a trend. The setting matters when the model predicts, so you can describe a
            trained model again with another one.
    """

    quantiles: Annotated[
        Annotated[tuple[Annotated[float, Gt(0), Lt(1)], ...], Len(1, increasing="strictly")] | None,
        Expected("increasing numbers above 0 and below 1, or NULL"),
    ] = None
    # Whether predictions stay within the responses of the training.
    clip: bool = True

    activation: ClassVar[ActivationName] = "mish"
    usual_rate = 0.2

    def head(self, arguments: Mapping[str, Any]) -> Any:
        if self.quantiles is None:
            return super().head(arguments)
        scale = self.response_scale or ((0.0, 1.0),)
        return engine.heads.QuantileHead(
            self.quantiles, scale=scale, limits=self.limits, **arguments
        )

    @property
    def limits(self) -> tuple[float, float] | None:
        return self.table.limits if self.table is not None and self.clip else None

    @property
    def row_loss(self) -> tuple[str, tuple[float, ...] | None]:
        return (self.loss, None) if self.quantiles is None else ("quantile", self.quantiles)

    @property
    def units(self) -> int:
        return 1 if self.quantiles is None else len(self.quantiles)

    def mean_logits(self, program: Program, logits: Result) -> Result:
        return program.op("mean", logits, axis=1)

    def outputs(self, program: Program, logits: Result) -> dict[str, Result]:
        if self.loss == "poisson":
            logits = program.op("exp", logits)
        if self.quantiles is not None:
            first = program.op("take", logits, np.array([0]), axis=1)
            rest = program.op("take", logits, np.arange(1, self.units), axis=1)
            steps = program.concatenate([first, program.op("softplus", rest)])
            logits = program.op("cumsum", steps, axis=1)
        (predictions,) = super().outputs(program, logits).values()
        if self.limits is not None:
            # Keras converts Python's numbers to 32 bits first.
            limits = (np.array([each]) for each in self.limits)
            predictions = program.op("clip", predictions, *limits)
        return {"predictions": predictions}

    def own_structure(self) -> dict[str, Any]:
        return {**super().own_structure(), "quantiles": self.quantiles}
