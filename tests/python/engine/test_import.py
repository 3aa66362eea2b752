"""Tests of the import of TensorFlow. They do not import it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tfdistribute import bridge, engine


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

with engine.collected_later():
    node = Node()
    node.itself = node
    node = weakref.ref(node)
    kept = [[] for _ in range(100_000)]
    print("later:", node() is not None)
print("old:", len(gc.get_objects(generation=0)) < 1000 < 100_000 < len(gc.get_objects(generation=2)))
print("collects:", gc.isenabled(), gc.collect() >= 0 and node() is None)
gc.disable()
with engine.collected_later():
    pass
print("still off:", not gc.isenabled())
gc.freeze()
frozen = gc.get_freeze_count()
with engine.collected_later():
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


def test_tensorflow_gets_pythons_own_distutils_and_setuptools_is_not_imported(
    run_python: Callable[..., Any],
):
    """Where Python has none, or setuptools was imported before, nothing changes."""
    code = """
import sys
from importlib.machinery import PathFinder
from tfdistribute.engine.imports import own_distutils
spec = PathFinder.find_spec("distutils")
has_own = spec is not None and PathFinder.find_spec("core", spec.submodule_search_locations)
with own_distutils.own_distutils():
    if has_own:
        import distutils
        print(distutils.sysconfig.__file__.startswith(sys.base_prefix), distutils.__spec__.origin == spec.origin)
    else:
        print(True, True)
    import distutils.errors
print([name for name in sys.modules if name.split(".")[0] in ("distutils", "setuptools")])
import setuptools, distutils
with own_distutils.own_distutils():
    print(sys.modules["distutils"] is distutils)
print(sys.modules["distutils"] is distutils)
"""
    assert run_python(code, timeout_s=30).stdout.splitlines() == ["True True", "[]", "True", "True"]


def test_calls_in_a_loop_do_not_map_memory_again_and_again(run_python: Callable[..., Any]):
    """A chunk of frames that is mapped and unmapped costs page faults."""
    code = """
import resource
from tfdistribute.engine.imports.frames import in_one_chunk

def leaf():
    pass

def loop_at(depth):
    if depth > 0:
        return loop_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(1000):
        leaf()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

@in_one_chunk
def decorated(depth):
    return loop_at(depth)

decorated(400)
print(max(loop_at(depth) for depth in range(400)) >= 1000)
print(max(decorated(depth) for depth in range(400)) < 500)
"""
    assert run_python(code, timeout_s=30).stdout.splitlines() == ["True", "True"]


def test_calls_from_r_and_the_import_have_one_chunk_of_frames():
    large = 10_000
    for function in (bridge.start, bridge.call, getattr(engine, "_import_tensorflow")):  # noqa: B009
        assert function.__code__.co_stacksize > large, function
