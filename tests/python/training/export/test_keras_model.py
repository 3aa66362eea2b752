"""Trained canned models as models of Keras 3, which predict the same numbers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.converted_models import (
    CATEGORIES,
    EVERY,
    LABELS,
    NUMBER,
    NUMBERS,
    REFUSED,
    ROWS,
    SGD,
    check_equal,
    dense,
    embedded,
    indicator,
    predictions,
    tensors,
    trained,
    values,
    wide_and_deep,
    with_every_column,
)
from support.sampling import sampled

from tfdistribute.errors import UnsupportedError
from tfdistribute.training import as_keras_model
from tfdistribute.training.export import export_keras_model

COLUMNS = NUMBERS | CATEGORIES
OFTEN = ["wide range", "buckets for numbers", "crossed columns"]
WIDE = [
    *(COLUMNS[name] for name in ("scaled", "range", "buckets for others", "crossed by name")),
    indicator(COLUMNS["words"]),
    {**COLUMNS["many"]},
]
DEEP = [
    *(COLUMNS[name] for name in ("number", "scaled", "pair", "wide", "range")),
    indicator(COLUMNS["many"]),
    embedded(COLUMNS["codes of a factor"], max_norm=0.5, trainable=False),
    embedded(COLUMNS["crossed columns"]),
]
LAYERS = {"hidden_units": [5, 4], "feature_columns": DEEP, "optimizer": SGD}
BOTH = {
    "linear_feature_columns": WIDE,
    "linear_optimizer": SGD,
    "dnn_feature_columns": DEEP,
    "dnn_hidden_units": [5],
    "dnn_optimizer": SGD,
    "batch_norm": True,
    "dnn_dropout": 0.2,
}
CLASS, NAMED, PAIR = (LABELS[name] for name in ("three classes", "named classes", "two numbers"))
MODELS: dict[str, tuple[dict[str, Any], Any]] = {
    "linear, of numbers": ({"kind": "linear_regressor", "feature_columns": WIDE}, NUMBER),
    "linear, of categories": (
        {
            "kind": "linear_regressor",
            "feature_columns": [COLUMNS["many"], COLUMNS["hashed words"]],
            "sparse_combiner": "sqrtn",
            "label_dimension": 2,
        },
        PAIR,
    ),
    "linear, of two classes": (
        {"kind": "linear_classifier", "feature_columns": WIDE, "sparse_combiner": "mean"},
        CLASS > 0,
    ),
    "linear, of named classes": (
        {"kind": "linear_classifier", "feature_columns": WIDE, "n_classes": 3},
        NAMED,
    ),
    "deep, of two numbers": ({"kind": "dnn_regressor", "label_dimension": 2, **LAYERS}, PAIR),
    "deep, of three classes": (
        {"kind": "dnn_classifier", "n_classes": 3, "activation_fn": "celu", **LAYERS},
        CLASS,
    ),
    "both, of numbers": ({"kind": "dnn_linear_combined_regressor", **BOTH}, NUMBER),
    "both, of two classes": ({"kind": "dnn_linear_combined_classifier", **BOTH}, CLASS > 0),
    "baseline, of numbers": ({"kind": "baseline_regressor"}, NUMBER),
    "baseline, of named classes": ({"kind": "baseline_classifier", "n_classes": 3}, NAMED),
}


@sampled(
    "name",
    MODELS,
    check=list(MODELS)[1::2],
    versions=["both, of two classes"],
    smoke=["linear, of categories"],
)
def test_keras_predicts_what_the_model_predicts(tensorflow: Any, tmp_path: Path, name: str) -> None:
    described, response = MODELS[name]
    if "linear" in name or "baseline" in name:
        described = {"optimizer": SGD, **described}
    check_equal(tensorflow, trained(tmp_path, described, response))


KINDS = ("linear", "dnn", "dnn_linear_combined", "baseline")
TABLE = [(kind, label) for kind in KINDS for label in LABELS]
BOTH_PARTS = [("dnn_linear_combined", "number"), ("dnn_linear_combined", "named classes")]


@sampled(("kind", "label"), TABLE, check=BOTH_PARTS[1:], versions=BOTH_PARTS[1:])
def test_keras_predicts_the_same_for_each_model_and_label_with_every_column(
    tensorflow: Any, tmp_path: Path, kind: str, label: str
) -> None:
    described = with_every_column(kind, label)
    check_equal(tensorflow, trained(tmp_path, described, LABELS[label], EVERY), EVERY)


@sampled("column", COLUMNS, check=OFTEN, versions=OFTEN)
def test_keras_reads_a_column_as_the_model_does(
    tensorflow: Any, tmp_path: Path, column: str
) -> None:
    check_equal(tensorflow, trained(tmp_path, wide_and_deep(COLUMNS[column])))


@pytest.mark.full
@pytest.mark.parametrize("combiner", ["sum", "sqrtn"])
def test_several_categories_of_a_row_are_combined_as_in_the_model(
    tensorflow: Any, tmp_path: Path, combiner: str
) -> None:
    deep = [dense(COLUMNS["many"], combiner)]
    model = wide_and_deep(
        COLUMNS["many"], dnn_feature_columns=deep, linear_sparse_combiner=combiner
    )
    check_equal(tensorflow, trained(tmp_path, model))


@pytest.mark.parametrize("column", REFUSED)
def test_a_column_without_a_layer_is_refused_by_name(
    tensorflow: Any, tmp_path_factory: Any, column: str
) -> None:
    folder = tmp_path_factory.mktemp("refused")
    described = {"kind": "linear_regressor", "feature_columns": [REFUSED[column]], "optimizer": SGD}
    with pytest.raises(UnsupportedError) as error:
        as_keras_model(trained(folder, described))
    assert " of x is not arithmetic" in str(error.value) or "has no layer" in str(error.value)


def test_an_activation_that_keras_lacks_is_refused(tensorflow: Any, tmp_path: Path) -> None:
    # Keras 2 and Keras 3 have different functions of this name.
    model = trained(tmp_path, wide_and_deep(COLUMNS["number"], dnn_activation_fn="hard_sigmoid"))
    with pytest.raises(UnsupportedError, match='`activation_fn` "hard_sigmoid" has no equal'):
        as_keras_model(model)


def test_the_file_predicts_without_this_package_and_trains_on(
    tensorflow: Any, tmp_path: Path, run_python: Callable[..., Any]
) -> None:
    described, response = MODELS["both, of two classes"]
    model = trained(tmp_path, described, response)
    path = export_keras_model(model, str(tmp_path / "model.keras"))
    names = as_keras_model(model).input
    features = {name: each.numpy() for name, each in tensors(tensorflow, names).items()}
    np.savez(tmp_path / "features.npz", **features)
    np.savez(tmp_path / "predictions.npz", **predictions(model, ["logits", "probabilities"]))
    result = run_python(ALONE.format(folder=str(tmp_path), path=path, rows=ROWS), 120)
    assert result.returncode == 0, result.stderr[-2000:]


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="It needs jax.")
def test_the_file_of_a_model_of_numbers_predicts_with_the_backend_jax(
    tensorflow: Any, tmp_path: Path, run_python: Callable[..., Any]
) -> None:
    described = with_every_column("dnn_linear_combined", "number", NUMBERS)
    model = trained(tmp_path, described, data=EVERY)
    path = export_keras_model(model, str(tmp_path / "model.keras"))
    known, names = values(data=EVERY), as_keras_model(model).input
    np.savez(tmp_path / "features.npz", **{name: known[name] for name in names})
    np.savez(tmp_path / "predictions.npz", **predictions(model, ["predictions"], EVERY))
    code = WITH_JAX.format(folder=str(tmp_path), path=path)
    result = run_python(code, 120)
    assert result.returncode == 0, result.stderr[-2000:]


WITH_JAX = """
import os
os.environ.update(KERAS_BACKEND="jax", JAX_ENABLE_X64="true")
import keras, numpy as np
assert keras.backend.backend() == "jax"
model = keras.models.load_model("{path}")
found = model(dict(np.load("{folder}/features.npz")))["predictions"]
wanted = np.load("{folder}/predictions.npz")["predictions"]
np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
"""


ALONE = """
import sys
import keras, numpy as np, tensorflow as tf
model = keras.models.load_model("{path}")
features = dict(np.load("{folder}/features.npz", allow_pickle=True))
features = {{name: tf.constant(each.tolist() if each.dtype == object else each) for name, each in features.items()}}
for name, wanted in np.load("{folder}/predictions.npz").items():
    np.testing.assert_allclose(model(features)[name], wanted, rtol=1e-6, atol=1e-6)
model.compile("sgd", loss={{"logits": keras.losses.BinaryCrossentropy(from_logits=True)}})
rows = tf.data.Dataset.from_tensor_slices((features, {{"logits": np.ones([{rows}, 1])}})).batch(100)
losses = model.fit(rows, epochs=2, verbose=0).history["loss"]
assert losses[1] < losses[0]
model.save("{folder}/again.keras")
assert "tfdistribute" not in sys.modules
"""
