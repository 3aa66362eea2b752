"""Trained tabular models as models of Keras 3, and in the format ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.converted_models import tensors, values
from support.inputs import Factor, in_memory
from support.models import model
from support.onnx_runtime import computed, needs_onnx
from support.sampling import sampled

from tfdistribute.inputs import Input
from tfdistribute.models.canned import table
from tfdistribute.run_config import RunSettings
from tfdistribute.training import (
    as_keras_model,
    concatenate,
    export_savedmodel,
    predict,
)
from tfdistribute.training.model_directory import ModelDirectory
from tfdistribute.training.tabular import parts
from tfdistribute.training.train import train

ROWS = 300
random = np.random.default_rng(4)
X = random.normal(size=ROWS).astype("float32")
Z = random.normal(size=ROWS).astype("float32")
Z[::9] = np.nan
CITY = random.integers(0, 12, size=ROWS)
KIND = random.integers(0, 3, size=ROWS)
FEATURES: dict[str, Any] = {
    "x": X,
    # Inputs, layers and operations must have other names.
    "dense_1": Z,
    "city_0": -X,
    "subtract": X[::-1],
    "multiply_1": Z[::-1],
    "concatenate": X * Z,
    "year": random.integers(1990, 2020, ROWS).astype("int32"),
    "city": Factor(CITY, [f"city {each}" for each in range(12)]),
    "city2": Factor(KIND, ["a", "b", "c"]),
}
NUMBER = (20 + 3 * X + CITY).astype("float32")
COUNT = np.round(np.exp(X)).astype("float32")
CLASSES = Factor(KIND, ["no", "maybe", "yes"])
MODELS: dict[str, tuple[dict[str, Any], Any]] = {
    "numbers": ({}, NUMBER),
    "counts": ({"loss": "poisson"}, COUNT),
    "quantiles": ({"quantiles": [0.1, 0.5, 0.9]}, NUMBER),
    "two classes": ({}, X > 0),
    "three classes": ({}, CLASSES),
    "a linear model": ({"epochs": None, "parts": ["linear"]}, CLASSES),
    "a class mean": ({"epochs": None, "parts": ["linear", "layers"]}, CLASSES),
    "cycles": ({}, NUMBER),
    "only numbers": ({"ensemble": 1}, NUMBER),
    "only categories": ({"new_levels": "ignore"}, NUMBER),
}
OWN = {
    "only numbers": ["x"],
    "only categories": ["city", "city2"],
}


def rows(name: str, response: Any = None) -> Input:
    features = {each: FEATURES[each] for each in OWN.get(name, FEATURES)}
    label = {} if response is None else {"y": response}
    return in_memory({**features, **label}, "y" if label else None, batch_size=ROWS, shuffle=False)


def trained(directory: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    fields, response = MODELS[name]
    kind = "tabular_classifier" if "class" in name or "linear" in name else "tabular_regressor"
    small = {"hidden_units": [8, 8], "batch_size": 100, "epochs": 80}
    described = model(kind, directory, **{**small, **fields})
    if name == "cycles":
        monkeypatch.setattr(table, "_PERIODS", dict.fromkeys(["integer", "double"], (7.0, 3.0)))
    if name == "a class mean":
        monkeypatch.setattr(parts, "mixture", lambda *_, **__: {"linear": 0.3, "layers": 0.7})
        monkeypatch.setattr(parts, "best_temperature", lambda *_: 1.5)
    train(described, RunSettings(seed=3), rows(name, response))
    structure = ModelDirectory(described.model_dir).structure or {}
    assert set(structure["learned"]["weights"]) == set(fields.get("parts", ["layers"]))
    periods = [each["periods"] for each in structure["learned"]["numbers"]]
    assert any(periods) == (name == "cycles")
    return described


def check_predictions(found: Any, described: Any, name: str) -> None:
    known = concatenate(predict(described, RunSettings(), rows(name)))
    for output, wanted in known.items():
        if output not in ("classes", "all_classes", "all_class_ids"):
            np.testing.assert_allclose(found[output], wanted, 1e-5, 1e-5, err_msg=output)
            assert np.ptp(wanted) > 0


@sampled("name", MODELS, check=["numbers", "two classes"], versions=["numbers"])
def test_keras_predicts_what_a_tabular_model_predicts(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    described = trained(tmp_path, monkeypatch, name)
    keras_model = as_keras_model(described)
    found = keras_model(tensors(tensorflow, keras_model.input, FEATURES))
    check_predictions(found, described, name)


@needs_onnx
@sampled("name", MODELS, check=["two classes"])
def test_onnx_predicts_what_a_tabular_model_predicts(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    described = trained(tmp_path, monkeypatch, name)
    path = export_savedmodel(described, RunSettings(), str(tmp_path / "onnx"), format="onnx")
    check_predictions(computed(path, values(data=FEATURES)), described, name)
