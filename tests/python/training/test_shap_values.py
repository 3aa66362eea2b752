"""SHAP values by the library shap, compared with the formula for linear models."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tfdistribute.bridge.shap_values import shap_values

needs_shap = pytest.mark.skipif(importlib.util.find_spec("shap") is None, reason="It needs shap.")
RANDOM = np.random.default_rng(2)


@needs_shap
@pytest.mark.slow
@pytest.mark.parametrize("columns", [3, 12])
def test_values_of_a_linear_model_are_its_terms_and_sum_to_the_prediction(columns: int) -> None:
    weights = RANDOM.normal(size=(columns, 2))
    rows, background = RANDOM.normal(size=(4, columns)), RANDOM.normal(size=(20, columns))
    found = shap_values(lambda matrix: matrix @ weights, rows, background, 1)
    wanted = (rows - background.mean(0))[:, :, None] * weights
    np.testing.assert_allclose(found["values"], wanted, atol=1e-8)
    np.testing.assert_allclose(found["base"], background.mean(0) @ weights, atol=1e-8)


@needs_shap
@pytest.mark.slow
def test_values_of_a_model_with_interactions_sum_to_the_prediction() -> None:
    def predict(matrix: Any) -> Any:
        return np.sin(matrix).prod(1, keepdims=True)

    rows, background = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(10, 4))
    found = shap_values(predict, rows, background, 1)
    assert found["values"].shape == (3, 4, 1)
    sums = found["values"].sum(1) + found["base"]
    np.testing.assert_allclose(sums, predict(rows), atol=1e-8)
