"""Conversion to Keras 3 with a TensorFlow that has only Keras 2."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.canned_models import NUMBER, SGD
from support.inputs import in_memory

from tfdistribute.descriptions import read
from tfdistribute.errors import UnsupportedError
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import as_keras_model, train


@pytest.mark.versions
def test_keras_2_is_refused_with_a_remedy(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = {"kind": "linear_regressor", "feature_columns": [NUMBER], "optimizer": SGD}
    model = read(Model, {"model_dir": str(tmp_path / "m"), **described})
    train(
        model, RunSettings(), in_memory({"x": [1.0, 2.0], "y": [1.0, 2.0]}, batch_size=2, epochs=1)
    )
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(__version__="2.15.0"))
    with pytest.raises(
        UnsupportedError, match="needs Keras 3, but Keras 2.15.0 is installed"
    ) as error:
        as_keras_model(model)
    assert "TensorFlow 2.16 or newer" in str(error.value)
