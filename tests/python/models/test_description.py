"""What all descriptions of models share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import models

NUMBER = [{"kind": "numeric", "key": "x"}]

MODELS: dict[str, dict[str, Any]] = {
    "linear_regressor": {"feature_columns": NUMBER},
    "dnn_regressor": {"feature_columns": NUMBER, "hidden_units": [2]},
    "dnn_linear_combined_regressor": {"linear_feature_columns": NUMBER},
    "baseline_regressor": {},
    "custom": {"model_fn": lambda features: None},
    "keras": {"function": lambda: None},
}


@pytest.mark.parametrize(("kind", "fields"), MODELS.items())
def test_a_models_directory_does_not_follow_the_working_directory(
    kind: str, fields: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert models.model(kind, "runs/a", **fields).model_dir == str(tmp_path / "runs" / "a")
    assert models.model(kind, "gs://bucket/a", **fields).model_dir == "gs://bucket/a"
