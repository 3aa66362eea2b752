"""Initial values of a model's first training."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models, strategies
from support.inputs import in_memory
from support.sampling import sampled

from tfdistribute.descriptions import read
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.train import distribute, train
from tfdistribute.training.variables import variable_names, variable_value

X = np.linspace(-1, 1, 16, dtype="float32")
Y = (3 * X + 1).astype("float32")
COLUMNS = [{"kind": "numeric", "key": "x"}]
# No step is taken: what training begins with is what it ends with.
STILL = models.sgd(0.0)
ADAM = models.optimizer("Adam", learning_rate=0.1)


def model(folder: Path, optimizer: Any = STILL, **fields: Any) -> Model:
    described = {"feature_columns": COLUMNS, "hidden_units": [3], "optimizer": optimizer}
    return models.model("dnn_regressor", folder / "model", **{**described, **fields})


def source() -> Input:
    return in_memory({"x": X, "y": Y}, batch_size=8)


@pytest.fixture(scope="module")
def trained(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(model(folder, ADAM), RunSettings(), source(), steps=4)
    return folder


@pytest.fixture
def first(trained: Path, tmp_path: Path) -> Model:
    shutil.copytree(trained, tmp_path / "first")
    return model(tmp_path / "first", ADAM)


def weights(trained: Model) -> dict[str, Any]:
    return {
        name: variable_value(trained.model_dir, name)
        for name in variable_names(trained.model_dir)
        if name.endswith(("kernel", "bias"))
    }


def same(one: Model, other: Model) -> None:
    expected = weights(other)
    assert len(expected) == 4
    for name, value in weights(one).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


@sampled("strategy", ["none", "mirrored", "central storage"], check=["none", "mirrored"])
def test_training_begins_with_the_variables_of_another_model(
    first: Model, tmp_path: Path, strategy: str
) -> None:
    second = model(tmp_path, warm_start_from={"ckpt_to_initialize_from": first.model_dir})
    train(second, strategies.settings(strategy), source(), steps=1)
    same(second, first)
    assert global_step(second.model_dir) == 1
    assert evaluate(second, RunSettings(), source())["loss"] == pytest.approx(
        evaluate(first, RunSettings(), source())["loss"], rel=1e-6
    )


def test_later_trainings_continue_from_the_models_own_checkpoint(
    first: Model, tmp_path: Path
) -> None:
    start = {"ckpt_to_initialize_from": first.model_dir}
    second = model(tmp_path, ADAM, warm_start_from=start)
    train(second, RunSettings(), source(), steps=2)
    before = evaluate(second, RunSettings(), source())["loss"]
    shutil.rmtree(first.model_dir)
    train(second, RunSettings(), source(), steps=2)
    assert global_step(second.model_dir) == 4
    assert evaluate(second, RunSettings(), source())["loss"] < before


@pytest.mark.smoke
def test_it_begins_with_an_exported_model(first: Model, tmp_path: Path) -> None:
    path = export_savedmodel(first, RunSettings(), str(tmp_path / "export"))
    second = model(tmp_path, warm_start_from={"ckpt_to_initialize_from": path})
    train(second, RunSettings(), source(), steps=1)
    same(second, first)


def test_only_the_chosen_variables_are_taken_also_under_other_names(
    first: Model, tmp_path: Path
) -> None:
    wider = model(
        tmp_path,
        hidden_units=[3, 5],
        warm_start_from={
            "ckpt_to_initialize_from": first.model_dir,
            "vars_to_warm_start": ".*hiddenlayer_0.*",
            "var_name_to_prev_var_name": {"dnn/hiddenlayer_0/bias": "dnn/hiddenlayer_0/bias"},
        },
    )
    train(wider, RunSettings(), source(), steps=1)
    taken = weights(wider)
    for part in ("kernel", "bias"):
        name = f"dnn/hiddenlayer_0/{part}"
        np.testing.assert_array_equal(taken[name], weights(first)[name])


def test_a_model_function_begins_with_the_variables_of_another_training(
    tensorflow: Any, tmp_path: Path
) -> None:
    v1 = tensorflow.compat.v1

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        outputs = v1.layers.dense(features["x"][:, None], 1)[:, 0]
        loss = tensorflow.reduce_mean((outputs - labels) ** 2)
        step = v1.train.get_or_create_global_step()
        train_op = v1.train.GradientDescentOptimizer(0.0).minimize(loss, step)
        return tensorflow.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def custom(folder: str, **fields: Any) -> Model:
        path = str(tmp_path / folder)
        return read(Model, {"kind": "custom", "model_fn": model_fn, "model_dir": path, **fields})

    first = custom("first")
    train(first, RunSettings(seed=3), source(), steps=1)
    second = custom("second", warm_start_from={"ckpt_to_initialize_from": first.model_dir})
    train(second, RunSettings(seed=4), source(), steps=1)
    kernels = [variable_value(each.model_dir, "dense/kernel") for each in (first, second)]
    np.testing.assert_array_equal(*kernels)


@pytest.mark.parametrize("fields", [{"hidden_units": [4]}, {"hidden_units": [3, 3]}])
def test_a_warm_start_from_another_model_is_refused(
    first: Model, tmp_path: Path, fields: dict[str, Any]
) -> None:
    start = {"ckpt_to_initialize_from": first.model_dir}
    second = model(tmp_path, warm_start_from=start, **fields)
    with pytest.raises(ModelDirectoryError, match="`warm_start_from`.* does not fit"):
        train(second, RunSettings(), source(), steps=1)


def test_a_directory_without_a_checkpoint_is_refused_before_training(
    tensorflow: Any, tmp_path: Path
) -> None:
    start = {"ckpt_to_initialize_from": str(tmp_path / "nothing")}
    with pytest.raises(ModelDirectoryError, match="holds no checkpoint") as caught:
        train(model(tmp_path, warm_start_from=start), RunSettings(), source(), steps=1)
    assert caught.value.argument == "warm_start_from"


def test_an_existing_estimator_may_take_only_what_has_another_vocabulary(
    tensorflow: Any, tmp_path: Path
) -> None:
    tf, scope = tensorflow, "linear/linear_model"
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("a\nb\n", encoding="utf-8")
    new.write_text("c\nb\na\n", encoding="utf-8")

    def estimator(name: str, file: Path, rate: float, **fields: Any) -> Any:
        column = tf.feature_column.categorical_column_with_vocabulary_file("w", str(file))
        rated = lambda: tf.keras.optimizers.legacy.SGD(rate)  # noqa: E731 - one for each graph
        folder = str(tmp_path / name)
        made = tf.estimator.LinearRegressor([column], folder, optimizer=rated, **fields)
        return distribute(made, RunSettings())

    def rows() -> Any:
        return tf.data.Dataset.from_tensors(({"w": [["a"], ["b"]]}, [[1.0], [5.0]]))

    estimator("old", old, 0.5).train(rows)
    weights = variable_value(str(tmp_path / "old"), f"{scope}/w/weights")
    info = tf.estimator.VocabInfo(str(new), 3, 0, str(old), 2)
    names = {f"{scope}/w/weights": info}
    start = tf.estimator.WarmStartSettings(str(tmp_path / "old"), None, names)
    estimator("new", new, 0.0, warm_start_from=start).train(rows)
    found = variable_value(str(tmp_path / "new"), f"{scope}/w/weights")
    np.testing.assert_allclose(found[:, 0], [0, weights[1, 0], weights[0, 0]])
    assert variable_value(str(tmp_path / "new"), f"{scope}/bias_weights") == 0
