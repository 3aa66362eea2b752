"""Hooks of R for Python modules, with a stand-in for reticulate's module."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute.bridge import load_hooks

MODULES = [f"package.module_{number}" for number in range(100)]


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stand in for rpytools.loader, after the import of some modules; ``asked`` are those that R was asked for."""
    own: Any = SimpleNamespace(_imported_packages=[*MODULES], _recursion_depth=0, asked=[])

    def maybe_run_hooks() -> None:
        if own._recursion_depth == 0 and threading.current_thread() is threading.main_thread():
            own.asked += own._imported_packages
            own._imported_packages.clear()

    own._maybe_run_hooks = maybe_run_hooks
    monkeypatch.setitem(sys.modules, "rpytools.loader", own)
    return own


def test_r_is_asked_once_and_gets_only_modules_with_hooks(loader: Any):
    calls: list[Sequence[str]] = []

    def hooked(names: list[str]) -> list[str]:
        calls.append(names)
        return ["package.module_3"]

    load_hooks.ask_at_once(hooked)
    loader._maybe_run_hooks()
    assert calls == [MODULES]
    assert loader.asked == ["package.module_3"]


def test_r_is_not_asked_inside_an_import_or_on_another_thread(loader: Any):
    load_hooks.ask_at_once(lambda _: [])
    loader._recursion_depth = 1
    loader._maybe_run_hooks()
    loader._recursion_depth = 0
    thread = threading.Thread(target=loader._maybe_run_hooks)
    thread.start()
    thread.join(10)
    assert loader._imported_packages == MODULES
    assert loader.asked == []


def test_a_few_modules_and_an_r_that_cannot_answer_are_left_to_reticulate(loader: Any):
    def hooked(names: list[str]) -> list[str]:
        raise RuntimeError(names)

    load_hooks.ask_at_once(hooked)
    loader._maybe_run_hooks()
    assert loader.asked == MODULES
    loader.asked.clear()
    load_hooks.ask_at_once(lambda _: [])
    loader._imported_packages[:] = MODULES[:3]
    loader._maybe_run_hooks()
    assert loader.asked == MODULES[:3]


def test_another_reticulate_and_a_process_without_r_stay_as_they_are(loader: Any):
    own = loader._maybe_run_hooks
    del loader._recursion_depth
    load_hooks.ask_at_once(lambda _: [])
    assert loader._maybe_run_hooks is own
    del sys.modules["rpytools.loader"]
    load_hooks.ask_at_once(lambda _: [])
