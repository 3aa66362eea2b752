"""Model descriptions for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tfdistribute.descriptions import read
from tfdistribute.models import Model


def model(kind: str, model_dir: str | Path = "models/m", **fields: Any) -> Any:
    """Describe a model of a kind."""
    return read(Model, {"kind": kind, "model_dir": str(model_dir), **fields})


def sgd(learning_rate: float) -> dict[str, Any]:
    """Describe gradient descent."""
    return optimizer("SGD", learning_rate=learning_rate)


def optimizer(name: str, **settings: Any) -> dict[str, Any]:
    """Describe an optimizer by its name."""
    return {"kind": "named", "name": name, "settings": settings}


def line(model_dir: str | Path = "models/m", **fields: Any) -> Any:
    """Describe a linear regressor of the feature "x"."""
    columns = [{"kind": "numeric", "key": "x"}]
    return model("linear_regressor", model_dir, **{"feature_columns": columns, **fields})
