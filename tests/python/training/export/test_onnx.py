"""Trained models in the format ONNX, which ONNX Runtime computes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import keras3_models
from support.converted_models import (
    CATEGORIES,
    DATA,
    NUMBERS,
    SGD,
    predictions,
    trained,
    values,
    wide_and_deep,
)
from support.inputs import Factor
from support.onnx_runtime import computed, needs_onnx
from support.sampling import sampled

from tfdistribute.errors import ArgumentError, BackendError, UnsupportedError
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, predict
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.train import train

COLUMNS = NUMBERS | CATEGORIES
HASHED = [
    *("buckets for others", "buckets for numbers", "hashed words", "hashed numbers"),
    *(name for name in CATEGORIES if name.startswith("crossed")),
]
WITH_OPERATORS = [name for name in COLUMNS if name not in HASHED]


def check_onnx(model: Any, folder: Path) -> None:
    path = export_savedmodel(model, RunSettings(), str(folder / "onnx"), format="onnx")
    found = computed(path, values(codes=True))
    for name, wanted in predictions(model, found).items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5, atol=1e-5, err_msg=name)


@needs_onnx
@sampled("column", WITH_OPERATORS, check=["wide range", "words", "one bucket for others"])
def test_a_column_is_computed_as_by_predict(tensorflow: Any, tmp_path: Path, column: str) -> None:
    check_onnx(trained(tmp_path, wide_and_deep(COLUMNS[column])), tmp_path)


@needs_onnx
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_predictions_of_a_classifier_have_its_names(
    tensorflow: Any, tmp_path: Path, n_classes: int
) -> None:
    described = {
        "kind": "dnn_classifier",
        "n_classes": n_classes,
        "hidden_units": [4],
        "batch_norm": True,
        "feature_columns": [NUMBERS["scaled"], NUMBERS["range"]],
        "optimizer": SGD,
    }
    classes = Factor(DATA["count"].clip(0) % n_classes, ["a", "b", "c"][:n_classes])
    check_onnx(trained(tmp_path, described, classes), tmp_path)


@needs_onnx
@pytest.mark.parametrize("column", ["hashed words", "crossed by name"])
def test_a_column_without_an_operator_is_refused_by_name(
    tensorflow: Any, tmp_path: Path, column: str
) -> None:
    model = trained(tmp_path, wide_and_deep(COLUMNS[column]))
    with pytest.raises(UnsupportedError, match="word.* hashes values"):
        export_savedmodel(model, RunSettings(), str(tmp_path / "onnx"), format="onnx")
    assert not (tmp_path / "onnx").exists()


@needs_onnx
def test_a_keras_model_is_computed_as_by_predict(tensorflow: Any, tmp_path: Path) -> None:
    model = keras3_models.described(tmp_path / "m", keras3_models.built())
    train(model, RunSettings(), keras3_models.source(), steps=3)
    path = export_savedmodel(model, RunSettings(), str(tmp_path / "onnx"), format="onnx")
    (found,) = computed(path, _One(keras3_models.BOTH)).values()
    known = concatenate(predict(model, RunSettings(), keras3_models.source()))
    (wanted,) = known.values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


class _One(dict[str, Any]):
    """A feature under any name."""

    def __init__(self, values: Any) -> None:
        super().__init__()
        self.values_of_all = values.astype("float32")

    def __missing__(self, name: str) -> Any:
        return self.values_of_all


def test_a_missing_package_is_named(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    model = trained(tmp_path, wide_and_deep(NUMBERS["number"]))
    with pytest.raises(BackendError, match="ONNX needs the Python package tf2onnx"):
        export_savedmodel(model, RunSettings(), str(tmp_path / "onnx"), format="onnx")


def test_settings_of_saved_models_are_refused(tensorflow: Any, tmp_path: Path) -> None:
    model = trained(tmp_path, wide_and_deep(NUMBERS["number"]))
    with pytest.raises(ArgumentError, match="`as_text` must not be given"):
        export_savedmodel(model, RunSettings(), str(tmp_path / "onnx"), format="onnx", as_text=True)
