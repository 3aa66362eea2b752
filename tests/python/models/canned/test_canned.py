"""Canned models, compared with hand-made ones, and the repairs to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models
from support.canned_models import (
    EMBEDDED,
    FIELDS,
    NUMBER,
    SGD,
    WORD,
    by_hand,
    configuration,
    input_fn,
    model,
)
from support.inputs import in_memory
from support.sampling import sampled
from support.strategies import settings

from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train


def variables(estimator: Any) -> dict[str, Any]:
    # The optimizer's variables are below "training/"; replicas' copies are saved but not restored.
    names = [
        name
        for name in estimator.get_variable_names()
        if not name.startswith("training/") and "/replica_" not in name
    ]
    return {name: estimator.get_variable_value(name) for name in names}


@sampled(
    "kind",
    FIELDS,
    check=["linear_classifier", "dnn_linear_combined_regressor"],
    versions=["dnn_linear_combined_regressor"],
)
def test_a_model_learns_the_same_as_the_one_made_by_hand(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    # TensorFlow's baseline fails on more than one feature.
    features = ("x",) if kind.startswith("baseline") else ("x", "word")
    ours = model(kind, tmp_path / "ours").build(configuration(tensorflow))
    theirs = by_hand(tensorflow, kind, tmp_path / "theirs")
    for estimator in (ours, theirs):
        estimator.train(input_fn(tensorflow, kind, features))
    expected = variables(theirs)
    found = variables(ours)
    assert found.keys() == expected.keys()
    assert len(expected) > 1
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    evaluated = [
        estimator.evaluate(input_fn(tensorflow, kind, features)) for estimator in (ours, theirs)
    ]
    assert evaluated[0] == evaluated[1]


@sampled(
    "kind",
    ["linear_regressor", "dnn_linear_combined_classifier", "baseline_classifier"],
    check=["dnn_linear_combined_classifier"],
)
def test_two_replicas_learn_the_same_as_one_device_in_two_trainings(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    # Normalising over a replica's batch differs from normalising over the whole batch.
    alike = {"batch_norm": False} if kind.startswith("dnn") else {}
    one = model(kind, tmp_path / "one", **alike).build(configuration(tensorflow))
    two = model(kind, tmp_path / "two", **alike).build(configuration(tensorflow, replicas=2))
    for _ in range(2):
        one.train(input_fn(tensorflow, kind, batch=8))
        two.train(input_fn(tensorflow, kind, batch=4))
    expected = variables(one)
    assert expected["global_step"] == 12
    for name, value in variables(two).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_baseline_learns_from_inputs_with_several_features(
    tensorflow: Any, tmp_path: Path
) -> None:
    kind = "baseline_regressor"
    several = model(kind, tmp_path / "several").build(configuration(tensorflow))
    single = model(kind, tmp_path / "single").build(configuration(tensorflow))
    several.train(input_fn(tensorflow, kind, ("x", "word")))
    single.train(input_fn(tensorflow, kind, ("x",)))
    np.testing.assert_array_equal(
        several.get_variable_value("baseline/bias"), single.get_variable_value("baseline/bias")
    )


def test_without_the_repair_a_baseline_fails_on_several_features(
    tensorflow: Any, tmp_path: Path
) -> None:
    bare = by_hand(tensorflow, "baseline_regressor", tmp_path)
    with pytest.raises(tensorflow.errors.FailedPreconditionError):
        bare.train(input_fn(tensorflow, "baseline_regressor", ("x", "word")))


@pytest.mark.parametrize("kind", ["linear_regressor", "dnn_regressor"])
def test_names_that_scopes_refuse_reach_trained_variables(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    awkward = {"petal length": "x", "größe": "word", "_w/1": "x", "%": "x"}
    plain = {"a": "x", "b": "word", "w": "x", "p": "x"}

    def trained(names: dict[str, str], model_dir: Path) -> Any:
        columns = []
        for name, role in names.items():
            text = {**WORD, "key": name}
            boxed = text if kind.startswith("linear") else {**EMBEDDED, "categorical_column": text}
            columns.append({"kind": "numeric", "key": name} if role == "x" else boxed)
        built = model(
            kind, model_dir, feature_columns=columns[:3], weight_column=list(names)[3]
        ).build(configuration(tensorflow))
        generator = np.random.default_rng(2)
        data = {
            name: generator.uniform(size=16).astype("float32")
            if role == "x"
            else np.array(["a", "b"] * 8)
            for name, role in names.items()
        }
        built.train(
            lambda: tensorflow.data.Dataset.from_tensor_slices(
                (data, np.ones(16, "float32"))
            ).batch(8)
        )
        return built.evaluate(
            lambda: tensorflow.data.Dataset.from_tensor_slices(
                (data, np.ones(16, "float32"))
            ).batch(8)
        )

    first = trained(awkward, tmp_path / "awkward")
    assert first["global_step"] == 2
    if kind.startswith("linear"):
        # Deep models start from random weights, which depend on variable names.
        # Columns are summed in name order, so the last digit may differ.
        assert first == pytest.approx(trained(plain, tmp_path / "plain"), rel=1e-6)


def test_a_classifier_takes_classes_as_doubles_and_as_flags(
    tensorflow: Any, tmp_path: Path
) -> None:
    data = {"x": np.linspace(-1, 1, 16).astype("float32"), "word": np.array(["a", "b"] * 8)}

    def biases(dtype: str) -> Any:
        estimator = model("linear_classifier", tmp_path / dtype, label_vocabulary=None).build(
            configuration(tensorflow)
        )
        labels = (np.arange(16) % 3 == 1).astype(dtype)
        estimator.train(lambda: tensorflow.data.Dataset.from_tensor_slices((data, labels)).batch(8))
        return estimator.get_variable_value("linear/linear_model/bias_weights")

    whole = biases("int64")
    assert np.any(whole != 0)
    np.testing.assert_array_equal(biases("float32"), whole)
    np.testing.assert_array_equal(biases("bool"), whole)


def test_a_classifier_stops_at_fractional_classes(tensorflow: Any, tmp_path: Path) -> None:
    estimator = model("dnn_classifier", tmp_path).build(configuration(tensorflow))
    data = {"x": np.zeros(4, "float32"), "word": np.array(["a", "b"] * 2)}
    labels = np.array([0, 1, 0.5, 1], "float32")
    with pytest.raises(tensorflow.errors.InvalidArgumentError, match="must be whole numbers"):
        estimator.train(lambda: tensorflow.data.Dataset.from_tensor_slices((data, labels)).batch(4))


@sampled(
    "kind", ["dnn_linear_combined_classifier", "baseline_classifier"], check=["baseline_classifier"]
)
def test_an_exported_model_reads_examples_by_the_names_of_the_data(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    described = model(kind, tmp_path / "model")
    estimator = described.build(configuration(tensorflow))
    estimator.train(input_fn(tensorflow, kind))
    path = estimator.export_saved_model(
        str(tmp_path / "export"), described.serving_input_receiver_fn()
    )
    loaded = tensorflow.saved_model.load(path.decode())
    feature = tensorflow.train.Feature
    example = tensorflow.train.Example()
    example.features.feature["x"].CopyFrom(
        feature(float_list=tensorflow.train.FloatList(value=[0.5]))
    )
    example.features.feature["word"].CopyFrom(
        feature(bytes_list=tensorflow.train.BytesList(value=[b"a"]))
    )
    answer = loaded.signatures["predict"](
        examples=tensorflow.constant([example.SerializeToString()] * 2)
    )
    assert answer["probabilities"].shape == (2, 3)


def test_keras_models_of_the_user_outlive_a_training(tensorflow: Any, tmp_path: Path):
    rows = np.ones([4, 1], "float32")
    mine = tensorflow.keras.Sequential([tensorflow.keras.layers.Dense(1, input_shape=(1,))])
    before = mine(rows).numpy()
    source = in_memory({"x": rows[:, 0], "y": rows[:, 0]})
    deep = models.model("dnn_regressor", tmp_path, hidden_units=2, feature_columns=NUMBER)
    train(deep, RunSettings(), source)
    np.testing.assert_array_equal(mine(rows).numpy(), before)


def test_autograph_rewrites_canned_models_only_if_they_have_functions_of_users(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Under a strategy, AutoGraph would take three quarters of the time to the first step."""
    from tensorflow.python.autograph.impl import api

    rewritten: list[str] = []
    convert = getattr(api, "_convert_actual")  # noqa: B009

    def noting(entity: Any, context: Any) -> Any:
        rewritten.append(f"{entity.__module__}.{getattr(entity, '__qualname__', '')}")
        return convert(entity, context)

    monkeypatch.setattr(api, "_convert_actual", noting)
    values = np.arange(8, dtype="float32")
    source = in_memory({"x": values, "y": values}, batch_size=4)

    def of_models(strategy: str, **arguments: Any) -> set[str]:
        rewritten.clear()
        directory = tmp_path / f"{strategy}-{len(arguments)}"
        deep = {"feature_columns": NUMBER, "optimizer": SGD, **arguments}
        model = models.model("dnn_regressor", directory, hidden_units=2, **deep)
        train(model, settings(strategy), source)
        return {name for name in rewritten if ".canned." in name or name.startswith("keras.")}

    assert of_models("mirrored") == of_models("none") == set()
    assert of_models("none", activation_fn=lambda x: x * 2.0) != set()
