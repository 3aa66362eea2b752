"""Models in the format ONNX, computed by ONNX Runtime."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest

needs_onnx = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="It needs onnxruntime."
)
TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(int64)": "int64",
    "tensor(string)": object,
}


def computed(path: str, features: dict[str, Any]) -> dict[str, Any]:
    runtime: Any = importlib.import_module("onnxruntime")
    session = runtime.InferenceSession(f"{path}/model.onnx")
    names = [each.name for each in session.get_outputs()]
    given = {
        each.name: features[each.name].astype(TYPES[each.type]) for each in session.get_inputs()
    }
    return dict(zip(names, session.run(names, given), strict=True))
