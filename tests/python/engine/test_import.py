"""Tests of the import of TensorFlow. They do not import it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tfdistribute import engine


def test_no_garbage_is_collected_while_tensorflow_is_imported(monkeypatch: pytest.MonkeyPatch):
    collects: dict[str, bool] = {}

    def import_module(name: str) -> Any:
        collects[name] = gc.isenabled()
        return MagicMock()

    monkeypatch.setattr(engine, "importlib", SimpleNamespace(import_module=import_module))
    monkeypatch.setattr(engine, "_noted", {})
    getattr(engine, "_import_tensorflow")()  # noqa: B009
    assert collects["tensorflow"] is False
    assert collects["tensorflow_estimator"] is False
    assert gc.isenabled()


def test_objects_of_the_import_are_never_looked_at_again(run_python: Callable[..., Any]):
    code = """
import gc
from tfdistribute import engine

before = gc.get_freeze_count()
with engine.without_collection(freezes=False):
    pass
print("kept out:", gc.get_freeze_count() == before)
with engine.without_collection(freezes=True):
    kept = [[] for _ in range(100_000)]
print("frozen:", gc.get_freeze_count() >= 100_000, len(gc.get_objects()) < 1000)
print("collects:", gc.isenabled())
gc.disable()
with engine.without_collection(freezes=True):
    pass
print("still off:", not gc.isenabled())
"""
    lines = run_python(code, timeout_s=30).stdout.splitlines()
    assert lines == ["kept out: True", "frozen: True True", "collects: True", "still off: True"]
