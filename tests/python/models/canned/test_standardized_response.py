"""Regressors that standardize the response: predictions and evaluations have its unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory
from support.models import model, optimizer
from support.sampling import sampled
from support.strategies import settings

from tfdistribute.errors import InputError, ModelDirectoryError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, export_savedmodel, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.model_directory import ModelDirectory
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_names, variable_value

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=48).astype("float32")
PRICE = (200_000 + 30_000 * X + 1_000 * RANDOM.normal(size=48)).astype("float32")
COLUMNS = [{"kind": "numeric", "key": "x"}]
ADAM = optimizer("Adam", learning_rate=0.05)
FIELDS: dict[str, dict[str, Any]] = {
    "linear_regressor": {"feature_columns": COLUMNS, "optimizer": ADAM},
    "dnn_regressor": {"feature_columns": COLUMNS, "hidden_units": [8], "optimizer": ADAM},
    "dnn_linear_combined_regressor": {
        "linear_feature_columns": COLUMNS,
        "linear_optimizer": ADAM,
        "dnn_feature_columns": COLUMNS,
        "dnn_hidden_units": [8],
        "dnn_optimizer": ADAM,
    },
}


def prices(response: Any = PRICE, **fields: Any) -> Input:
    return in_memory({"x": X, "y": response}, **{"batch_size": 16, "shuffle": False, **fields})


def regressor(kind: str, directory: Path, **fields: Any) -> Model:
    return model(kind, directory, **{"standardize_response": True, **FIELDS[kind], **fields})


def predictions(described: Model, source: Input | None = None) -> Any:
    found = predict(described, RunSettings(seed=3), source or prices())
    return concatenate(found)["predictions"]


@pytest.mark.versions
@pytest.mark.parametrize("kind", FIELDS)
def test_predictions_and_evaluations_have_the_unit_of_the_response(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    described = regressor(kind, tmp_path)
    history = train(described, RunSettings(seed=3), prices(epochs=100))
    predicted = predictions(described)
    assert predicted.shape == (48, 1)
    residuals = predicted[:, 0] - PRICE
    assert np.sqrt(np.mean(residuals**2)) < 3000
    metrics = evaluate(described, RunSettings(), prices())
    # A step has a third of the rows.
    assert 0.2 < history.losses[-1] / metrics["loss"] < 5
    assert metrics["average_loss"] == pytest.approx(np.mean(residuals**2), rel=1e-3)
    assert metrics["loss"] == metrics["average_loss"]
    assert metrics["prediction/mean"] == pytest.approx(predicted.mean(), rel=1e-5)


def test_the_weights_are_those_of_a_response_that_the_user_standardized(
    tensorflow: Any, tmp_path: Path
) -> None:
    kind = "dnn_regressor"
    numbers = PRICE.astype("float64")
    standardized = ((numbers - numbers.mean()) / numbers.std()).astype("float32")
    inside = regressor(kind, tmp_path / "inside")
    outside = regressor(kind, tmp_path / "outside", standardize_response=None)
    history = train(inside, RunSettings(seed=3), prices(epochs=5))
    plain = train(outside, RunSettings(seed=3), prices(standardized, epochs=5))
    for name in variable_names(outside.model_dir):
        of_inside, of_outside = (variable_value(each.model_dir, name) for each in (inside, outside))
        np.testing.assert_array_equal(of_inside, of_outside, err_msg=name)
    expected = predictions(outside) * numbers.std() + numbers.mean()
    np.testing.assert_allclose(predictions(inside), expected, rtol=1e-7)
    np.testing.assert_allclose(history.losses, np.array(plain.losses) * numbers.var(), rtol=1e-6)


AGE = (40 + 10 * X + RANDOM.normal(size=48)).astype("float32")
COUNT = np.round(np.exp(3 + X / 2)).astype("float32")
WEIGHT = np.resize([0.5, 1.0, 2.0], 48).astype("float32")
# Models that do not learn in their only step, and their responses: the rate of a tabular model begins with 0.
STILL: dict[str, Any] = {**FIELDS["dnn_regressor"], "optimizer": optimizer("SGD", learning_rate=0)}
TABULAR: dict[str, Any] = {"hidden_units": [8], "ensemble": 2, "epochs": 1, "dropout": 0}
LOSSES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "squares": ("dnn_regressor", STILL, PRICE),
    "squares of two responses": (
        "dnn_regressor",
        {**STILL, "label_dimension": 2},
        np.stack([PRICE, AGE], 1),
    ),
    "sum of squares": ("dnn_regressor", {**STILL, "loss_reduction": "sum"}, PRICE),
    "weighted squares": ("dnn_regressor", {**STILL, "weight_column": "w"}, PRICE),
    "weighted squares of two responses": (
        "dnn_regressor",
        {**STILL, "weight_column": "w", "label_dimension": 2},
        np.stack([PRICE, AGE], 1),
    ),
    "squares of an ensemble": ("tabular_regressor", TABULAR, PRICE),
    "quantiles": ("tabular_regressor", {**TABULAR, "quantiles": [0.1, 0.5, 0.9]}, PRICE),
    "counts": ("tabular_regressor", {**TABULAR, "loss": "poisson"}, COUNT),
    "weighted counts": (
        "tabular_regressor",
        {**TABULAR, "loss": "poisson", "weight_column": "w"},
        COUNT,
    ),
}
RUNS: dict[str, dict[str, Any]] = {
    "one step": {},
    "micro-batches": {"micro_batches": 3},
    "loop": {"steps_per_run": 4},
    "compiled": {"steps_per_run": 4, "compile": True},
}


@sampled(
    ("loss", "strategy", "run"),
    [
        *((loss, strategy, "one step") for loss in LOSSES for strategy in ("none", "mirrored")),
        *((loss, "none", "micro-batches") for loss in LOSSES),
        *(
            (loss, "none", run)
            for loss in LOSSES
            if "squares" in loss
            for run in ("loop", "compiled")
        ),
        ("weighted squares", "mirrored", "micro-batches"),
    ],
    check=[
        ("squares", "mirrored", "one step"),
        ("weighted squares of two responses", "none", "micro-batches"),
        ("sum of squares", "none", "compiled"),
        ("quantiles", "none", "one step"),
        ("counts", "mirrored", "one step"),
    ],
)
def test_losses_of_steps_have_the_unit_of_evaluations(
    tensorflow: Any, tmp_path: Path, loss: str, strategy: str, run: str
) -> None:
    kind, fields, response = LOSSES[loss]
    described = model(kind, tmp_path, **{"standardize_response": True, **fields})
    weights = {"w": WEIGHT} if "weighted" in loss else {}

    def rows(epochs: int) -> Input:
        columns = {"x": X, "y": response, **weights}
        return in_memory(columns, batch_size=48, epochs=epochs, shuffle=False)

    steps = 1 if kind.startswith("tabular") else 9
    history = train(described, settings(strategy, seed=3, **RUNS[run]), rows(steps))
    assert history.compiled == (run == "compiled")
    found = evaluate(described, RunSettings(), rows(1))["loss"]
    np.testing.assert_allclose(history.losses, found, rtol=1e-5)
    # A reference that the package does not compute.
    predicted = predictions(described, rows(1))
    expected = _loss_by_hand(loss, np.reshape(response, (48, -1)).astype("float64"), predicted)
    assert found == pytest.approx(expected, rel=1e-5)


def _loss_by_hand(loss: str, labels: Any, predicted: Any) -> float:
    if loss == "quantiles":
        above = labels - predicted
        losses = np.maximum(above * [0.1, 0.5, 0.9], above * [-0.9, -0.5, -0.1])
    elif "counts" in loss:
        losses = predicted - labels * np.log(predicted)
    else:
        losses = (labels - predicted) ** 2
    weighted = losses * WEIGHT[:, None] if "weighted" in loss else losses
    return float(weighted.sum() if loss.startswith("sum") else weighted.mean())


def test_two_devices_learn_the_same_as_one(tensorflow: Any, tmp_path: Path) -> None:
    one, two = (regressor("dnn_regressor", tmp_path / each) for each in ("one", "two"))
    train(one, RunSettings(seed=3), prices(epochs=5))
    train(two, settings("mirrored", seed=3), prices(epochs=5))
    np.testing.assert_allclose(predictions(two), predictions(one), rtol=1e-5)


def test_a_model_keeps_the_scale_of_its_first_training(tensorflow: Any, tmp_path: Path) -> None:
    kind = "linear_regressor"
    train(regressor(kind, tmp_path), RunSettings(seed=3), prices())
    # Neither other rows nor a description that leaves the question open change the scale.
    train(regressor(kind, tmp_path, standardize_response=None), RunSettings(), prices(2 * PRICE))
    structure = ModelDirectory(str(tmp_path)).structure or {}
    np.testing.assert_allclose(structure["response_scale"], [(PRICE.mean(), PRICE.std())], 1e-5)
    with pytest.raises(ModelDirectoryError, match="its response_scale is"):
        train(regressor(kind, tmp_path, standardize_response=False), RunSettings(), prices())


def test_a_training_that_failed_leaves_no_scale(tensorflow: Any, tmp_path: Path) -> None:
    described = regressor("linear_regressor", tmp_path)
    with pytest.raises(Exception, match="injected"):
        train(described, RunSettings(), prices(), hooks=[_failing(tensorflow)])
    train(described, RunSettings(), prices(PRICE / 1000))
    structure = ModelDirectory(str(tmp_path)).structure or {}
    assert structure["response_scale"][0][0] == pytest.approx(PRICE.mean() / 1000)


def test_an_export_predicts_in_the_unit_of_the_response(tensorflow: Any, tmp_path: Path) -> None:
    described = regressor("dnn_regressor", tmp_path / "model")
    train(described, RunSettings(seed=3), prices(epochs=30))
    exported = export_savedmodel(described, RunSettings(), str(tmp_path / "export"))
    example = tensorflow.train.Example()
    example.features.feature["x"].float_list.value.append(float(X[0]))
    serve = tensorflow.saved_model.load(exported).signatures["predict"]
    answer = serve(examples=tensorflow.constant([example.SerializeToString()]))
    np.testing.assert_allclose(answer["predictions"], predictions(described)[:1], rtol=1e-5)


def test_rows_that_are_not_in_memory_are_rejected(tmp_path: Path) -> None:
    described = regressor("linear_regressor", tmp_path)
    facts = prices().facts()
    with pytest.raises(InputError, match="not in memory"):
        described.complete_from_input(type(facts)(facts.features, facts.label))


def _failing(tensorflow: Any) -> Any:
    class Failing(tensorflow.estimator.SessionRunHook):
        def begin(self) -> None:
            raise RuntimeError("injected")

    return Failing()
