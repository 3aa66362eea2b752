"""Fixtures for tests of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def alone(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Train a model function without a strategy, once per name; return its variables."""
    from support.custom_models import trained

    known: dict[str, dict[str, Any]] = {}

    def variables(name: str, model_fn: Any) -> dict[str, Any]:
        if name not in known:
            known[name] = trained(model_fn, tmp_path_factory.mktemp("alone"))
        return known[name]

    return variables
