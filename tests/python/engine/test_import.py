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


def test_garbage_of_the_import_is_collected_later(run_python: Callable[..., Any]):
    """What a program has frozen stays frozen, and what it does not collect is not collected."""
    code = """
import gc, weakref
from tfdistribute import engine

class Node:
    pass

with engine.defer_collection():
    node = Node()
    node.itself = node
    node = weakref.ref(node)
    kept = [[] for _ in range(100_000)]
    print("later:", node() is not None)
print("old:", len(gc.get_objects(generation=0)) < 1000 < 100_000 < len(gc.get_objects(generation=2)))
print("collects:", gc.isenabled(), gc.collect() >= 0 and node() is None)
gc.disable()
with engine.defer_collection():
    pass
print("still off:", not gc.isenabled())
gc.freeze()
frozen = gc.get_freeze_count()
with engine.defer_collection():
    pass
print("still frozen:", gc.get_freeze_count() == frozen)
"""
    lines = run_python(code, timeout_s=30).stdout.splitlines()
    assert lines == [
        "later: True",
        "old: True",
        "collects: True True",
        "still off: True",
        "still frozen: True",
    ]
