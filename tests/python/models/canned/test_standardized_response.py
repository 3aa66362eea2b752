"""Regressors that standardize the response: predictions and evaluations have its unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory
from support.models import model, optimizer
from support.strategies import settings

from tfdistribute.errors import InputError, ModelDirectoryError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, export_savedmodel, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.model_directory import ModelDirectory
from tfdistribute.training.train import train

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


def predictions(described: Model) -> Any:
    return concatenate(predict(described, RunSettings(seed=3), prices()))["predictions"]


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
    standardized = ((PRICE - PRICE.mean(dtype="float64")) / PRICE.std(dtype="float64")).astype(
        "float32"
    )
    inside = regressor(kind, tmp_path / "inside")
    outside = regressor(kind, tmp_path / "outside", standardize_response=None)
    train(inside, RunSettings(seed=3), prices(epochs=5))
    train(outside, RunSettings(seed=3), prices(standardized, epochs=5))
    expected = predictions(outside) * PRICE.std() + PRICE.mean()
    np.testing.assert_allclose(predictions(inside), expected, rtol=1e-5)


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
