"""Weights and user functions that transform other inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistribute.columns import ColumnFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import CallbackError, InputError
from tfdistribute.inputs import Input, audit_sharding
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

X = np.arange(1.0, 9.0)
W = np.array([1.0, 2, 0, 3, 1, 0, 1, 2])
KINDS = {"codes": np.array([0, 1] * 4), "labels": np.array(["a", "b"], object)}


def memory(*names: str, **fields: Any) -> dict[str, Any]:
    columns = {
        "x": {"name": "x", "type": "float", "values": lambda: X},
        "w": {"name": "w", "type": "float", "values": lambda: W},
        "y": {"name": "y", "type": "float", "values": lambda: 2 * X},
        "kind": {
            "name": "kind",
            "type": "string",
            "values": lambda: KINDS,
            "levels": ["a", "b"],
        },
    }
    return {
        "kind": "in_memory",
        "columns": [columns[name] for name in names],
        "batch_size": 4,
        **fields,
    }


def transformed(source: Mapping[str, Any], **fields: Any) -> Input:
    return read(Input, {"kind": "transformed", "source": source, **fields})


def from_r(function: Any, *formals: str) -> dict[str, Any]:
    return {"call": lambda *args: {"value": function(*args)}, "formals": list(formals)}


def batches(source: Input, purpose: Any = "evaluate") -> list[Any]:
    return list(source.input_fn(purpose, 1)().as_numpy_iterator())


def both(features: Any, labels: Any) -> Any:
    return [
        {"double": features["x"] * 2, "x": features["x"]},
        None if labels is None else labels + 1,
    ]


def test_features_and_labels_are_changed_by_whole_batches(tensorflow: Any):
    source = transformed(memory("x", "y", response="y"), transform=both)
    (first, labels), _ = batches(source)
    assert first["double"].tolist() == (2 * X[:4]).tolist()
    assert labels.tolist() == (2 * X[:4] + 1).tolist()
    (predicted, _) = batches(source, "predict")
    assert predicted["double"].tolist() == (2 * X[:4]).tolist()


def test_the_result_may_have_several_forms(tensorflow: Any):
    def features_only(features: Any) -> Any:
        return {"x": features["x"] + 1}

    source = memory("x", "y", response="y")
    for transform in (
        features_only,
        from_r(features_only, "features"),
        from_r(lambda f, y: {"features": {"x": f["x"] + 1}, "labels": y}, "features", "labels"),
        from_r(lambda f, y: {"x": f["x"] + 1}, "features", "labels"),
    ):
        found = batches(transformed(source, transform=transform))
        assert found[0][0]["x"].tolist() == (X[:4] + 1).tolist()
        assert found[0][1].tolist() == (2 * X[:4]).tolist()


def test_columns_after_the_function_are_known(tensorflow: Any):
    tf = tensorflow

    def change(features: Any, labels: Any) -> Any:
        wide = tf.stack([features["x"], features["x"]], axis=1)
        return {"wide": wide, "renamed": features["kind"], "n": tf.cast(features["x"], "int32")}

    facts = transformed(memory("x", "kind", "y", response="y"), transform=change).facts()
    assert facts.features == {
        "wide": ColumnFacts("wide", "float", (2,)),
        "renamed": ColumnFacts("renamed", "string", (), ("a", "b")),
        "n": ColumnFacts("n", "integer"),
    }
    assert facts.label == ColumnFacts("y", "float")
    assert facts.label_range == (2, 16)
    assert (facts.rows, facts.epochs, facts.global_batch_size) == (8, 1, 4)
    levels = transformed(memory("x", "kind", response="kind"), transform=lambda features: features)
    assert levels.facts().label == ColumnFacts("kind", "string", (), ("a", "b"))


@pytest.mark.parametrize(
    "change",
    [
        lambda tf, x: tf.cast(x, "float64"),
        lambda tf, x: tf.sparse.from_dense(x[:, None]),
        lambda tf, x: tf.boolean_mask(tf.stack([x, x], 1), [True, False], axis=1)[:, : tf.size(x)],
    ],
)
def test_values_that_are_not_columns_are_left_to_tensorflow(change: Any, tensorflow: Any):
    source = transformed(
        memory("x", "y", response="y"),
        transform=lambda features: {"new": change(tensorflow, features["x"])},
    )
    assert source.facts().features is None
    assert source.facts().label == ColumnFacts("y", "float")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned NULL instead"),
        ([1, 2, 3], "returned 3 values instead"),
        ([{"x": 1.0}, None], "object of class float for `x`"),
        ({"x": "scalar"}, "a single value for `x`"),
    ],
)
def test_results_that_are_not_features_are_refused(returned: Any, message: str, tensorflow: Any):
    def change(features: Any, labels: Any) -> Any:
        if returned == {"x": "scalar"}:
            return {"x": tensorflow.reduce_sum(features["x"])}
        return returned

    with pytest.raises(InputError, match=message):
        transformed(memory("x", "y", response="y"), transform=change).facts()


def test_an_error_of_the_function_says_that_labels_may_be_missing(tensorflow: Any):
    failing = {"call": lambda *args: {"error": "no"}, "formals": ["features", "labels"]}
    source = transformed(memory("x"), transform=failing)
    with pytest.raises(CallbackError, match="`transform` failed: no\n.*is.null"):
        source.facts()


def linear(path: Path, *names: str) -> tuple[Model, RunSettings]:
    columns = [{"kind": "numeric", "key": name} for name in names]
    model = {
        "kind": "linear_regressor",
        "feature_columns": columns,
        "model_dir": str(path),
        "optimizer": {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.01}},
    }
    return read(Model, model), RunSettings()


def test_rows_may_not_be_dropped(tmp_path: Path, tensorflow: Any):
    source = transformed(
        memory("x", "y", response="y"), transform=lambda features: {"x": features["x"][1:]}
    )
    with pytest.raises(InputError, match="dropped or added rows"):
        train(*linear(tmp_path, "x"), source)


def test_a_transformed_input_is_shared_like_its_source(tensorflow: Any):
    source = transformed(memory("x", "w", "y", response="y"), transform=both, weights="w")
    audit = audit_sharding(source, 2)
    assert audit.ok
    assert {worker.seed for worker in audit.workers} == {1}
    context: Any = SimpleNamespace(
        num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=2
    )
    found = list(source.input_fn("evaluate", 1)(context).as_numpy_iterator())
    assert [len(labels) for _, labels in found] == [2, 2]


def test_weights_are_not_features_and_the_function_does_not_see_them(tensorflow: Any):
    seen: list[str] = []

    def change(features: Any, labels: Any) -> Any:
        seen.extend(features)
        return {"z": features["x"]}

    source = transformed(memory("x", "w", "y", response="y"), weights="w", transform=change)
    facts = source.facts()
    assert facts.features == {"z": ColumnFacts("z", "float")}
    assert facts.weights == ColumnFacts("w", "float")
    features, _ = batches(source)[0]
    assert features["w"].tolist() == W[:4].tolist()
    assert sorted(features) == ["w", "z"]
    assert set(seen) == {"x"}


def test_weights_that_are_not_a_column_of_numbers_are_refused():
    with pytest.raises(InputError, match="`weights` names `v`, but"):
        transformed(memory("x", "w"), weights="v").facts()
    with pytest.raises(InputError, match="does not hold one number per row"):
        transformed(memory("x", "kind"), weights="kind").facts()


def test_ready_made_models_weigh_rows_and_metrics(tmp_path: Path, tensorflow: Any):
    weighted = transformed(memory("x", "w", "y", response="y", shuffle=False), weights="w")
    model, settings = linear(tmp_path, "x")
    train(model, settings, weighted, steps=1)
    # One step from zero over the first four rows: the gradient of the mean of w (b x + a - y)^2.
    x, y, w = X[:4], 2 * X[:4], W[:4]
    slope = 0.01 * 2 * (w * y * x).mean()
    intercept = 0.01 * 2 * (w * y).mean()
    rows = read(Input, memory("x"))
    found = concatenate(predict(model, settings, rows))["predictions"].ravel()
    assert found == pytest.approx(slope * X + intercept, rel=1e-5)
    errors = (found - 2 * X) ** 2
    metrics = evaluate(model, settings, weighted)
    assert metrics["average_loss"] == pytest.approx((W * errors).sum() / W.sum(), rel=1e-5)
    # Without weights in the input, the same model weighs all rows equally.
    plain = evaluate(model, settings, read(Input, memory("x", "y", response="y")))
    assert plain["average_loss"] == pytest.approx(errors.mean(), rel=1e-5)


def test_a_model_that_reads_other_weights_is_refused(tmp_path: Path, tensorflow: Any):
    source = transformed(memory("x", "w", "y", response="y"), weights="w")
    model, settings = linear(tmp_path, "x")
    other = read(Model, {**_fields(model), "weight_column": "x"})
    with pytest.raises(InputError, match='weights are "w", but the model reads "x"'):
        train(other, settings, source)


def _fields(model: Any) -> dict[str, Any]:
    return {
        "kind": model.kind,
        "feature_columns": [{"kind": "numeric", "key": "x"}],
        "model_dir": model.model_dir,
    }


def test_keras_models_weigh_rows_as_fit_does(tmp_path: Path, tensorflow: Any):
    keras = tensorflow.keras

    def build() -> Any:
        layer = keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))
        model = keras.Sequential([layer])
        optimizer = keras.optimizers.legacy.SGD(0.001)
        model.compile(optimizer, "mse", metrics=["mae"], weighted_metrics=["mse"])
        return model

    source = transformed(memory("x", "w", "y", response="y", shuffle=False, epochs=3), weights="w")
    model = read(Model, {"kind": "keras", "function": build, "model_dir": str(tmp_path / "model")})
    train(model, RunSettings(), source)
    fitted = build()
    fitted.fit(X[:, None], 2 * X, sample_weight=W, batch_size=4, epochs=3, shuffle=False, verbose=0)
    metrics = evaluate(
        model, RunSettings(), transformed(memory("x", "w", "y", response="y"), weights="w")
    )
    expected = fitted.evaluate(X[:, None], 2 * X, sample_weight=W, batch_size=4, verbose=0)
    found = [metrics[name] for name in fitted.metrics_names]
    assert found == pytest.approx(expected, rel=1e-5)
    predicted = concatenate(predict(model, RunSettings(), read(Input, memory("x"))))
    (output,) = predicted.values()
    assert output.ravel() == pytest.approx(fitted.predict(X[:, None], verbose=0).ravel(), rel=1e-5)
