"""Indicators of many categories in linear models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models, strategies
from support.inputs import Factor, in_memory
from support.sampling import sampled

from tfdistribute.engine.features import coded_columns
from tfdistribute.models.canned.parts import build_linear_columns
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_names, variable_value

LEVELS = [f"level {code}" for code in range(150)]
CODES = np.random.default_rng(1).integers(0, len(LEVELS), 600)
INDICATOR = {
    "kind": "indicator",
    "categorical_column": {
        "kind": "categorical_with_vocabulary_list",
        "key": "f",
        "vocabulary_list": LEVELS[:140],
        "default_value": -1,
    },
}
NUMBER = {"kind": "numeric", "key": "x"}


def source() -> Any:
    x = np.linspace(-1, 1, len(CODES)).astype("float32")
    y = (np.sin(CODES) + x > 0).astype("int32")
    return in_memory({"f": Factor(CODES, LEVELS), "x": x, "y": y}, batch_size=60, epochs=3)


def model(kind: str, folder: Path) -> Any:
    optimizer = models.sgd(0.2)
    if kind.startswith("linear"):
        fields = {"feature_columns": [INDICATOR, NUMBER], "optimizer": optimizer}
    else:
        fields = {
            "linear_feature_columns": [INDICATOR, NUMBER],
            "linear_optimizer": optimizer,
            "dnn_feature_columns": [INDICATOR],
            "dnn_hidden_units": [3],
            "dnn_optimizer": optimizer,
        }
    return models.model(kind, folder / kind, **fields)


@sampled(
    ("kind", "strategy"),
    [
        (kind, strategy)
        for kind in ["linear_regressor", "linear_classifier", "dnn_linear_combined_regressor"]
        for strategy in ["none", "mirrored"]
    ],
    check=[("linear_regressor", "none"), ("linear_classifier", "mirrored")],
    versions=[("linear_regressor", "none")],
)
def test_they_are_read_as_categories_with_the_same_weights(
    tensorflow: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    strategy: str,
) -> None:
    settings = strategies.settings(strategy, seed=1)

    def trained(folder: str) -> Any:
        described = model(kind, tmp_path / folder)
        train(described, settings, source())
        return described

    categories = trained("categories")
    monkeypatch.setattr(coded_columns, "MANY_CATEGORIES", 1000)
    dense = trained("dense")
    names = [n for n in variable_names(dense.model_dir) if n.startswith(("linear/", "dnn/"))]
    assert "linear/linear_model/f_indicator/weights" in names
    for name in names:
        expected = variable_value(dense.model_dir, name)
        found = variable_value(categories.model_dir, name)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6, err_msg=name)
    monkeypatch.undo()
    # The other's checkpoint fits.
    one, other = (evaluate(each, RunSettings(), source()) for each in (categories, dense))
    assert one["loss"] == pytest.approx(other["loss"], rel=1e-5)


def test_a_step_has_no_matrix_of_rows_and_categories(tensorflow: Any, tmp_path: Path) -> None:
    column = coded_columns.with_codes(
        tensorflow.feature_column.indicator_column(
            tensorflow.feature_column.categorical_column_with_identity("f", 100)
        )
    )
    assert column.variable_shape.as_list() == [1, 100]
    categories = coded_columns.as_categories(column)
    assert (categories.name, categories.num_buckets) == ("f_indicator", 100)
    assert not hasattr(categories, "get_dense_tensor")
    assert coded_columns.as_categories(tensorflow.feature_column.numeric_column("x")).key == "x"


@pytest.mark.parametrize("kind", ["linear_regressor", "dnn_linear_combined_regressor"])
def test_a_linear_part_is_built_of_categories(tensorflow: Any, tmp_path: Path, kind: str) -> None:
    columns = [
        column for key, column in model(kind, tmp_path).columns().items() if "dnn" not in key
    ]
    built = build_linear_columns(columns[0], "sum")
    assert "f_indicator" in [each.name for each in built]
    assert not any(hasattr(each, "get_dense_tensor") for each in built if "f" in each.name)
