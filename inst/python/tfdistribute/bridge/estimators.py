"""Estimators of R as the backend's models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfdistribute.descriptions import read
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings


def read_estimator(estimator: Mapping[str, Any]) -> tuple[Model, RunSettings]:
    fields = {name: value for name, value in estimator.items() if name != "config"}
    return read(Model, fields), read(RunSettings, estimator.get("config") or {})
