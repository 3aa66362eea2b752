"""R functions that other threads call, with stand-ins for the modules of reticulate."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tfdistribute.bridge import r_calls
from tfdistribute.errors import CallbackError


def reticulate(monkeypatch: pytest.MonkeyPatch, *, is_new: bool) -> Callable[[], Any]:
    """Replace reticulate's modules by those of an old or new version, and return an R function of that version."""

    def call_r_function(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return function, args, kwargs

    rpycall: Any = SimpleNamespace(call_r_function=call_r_function)
    call: Any = SimpleNamespace(**({"call_r_function": call_r_function} if is_new else {}))
    thread = SimpleNamespace(**({"safe_call_r_function_on_main_thread": None} if is_new else {}))
    modules: dict[str, Any] = {"rpycall": rpycall, "rpytools": ModuleType("rpytools")}
    modules |= {"rpytools.call": call, "rpytools.thread": thread}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    r_calls.install()
    r_calls.install()
    source = call if is_new else rpycall
    return lambda: source.call_r_function("r", 1, f=2)


def on_another_thread(function: Callable[[], Any]) -> Any:
    answers: list[Any] = []

    def work() -> None:
        try:
            answers.append(function())
        except CallbackError as error:
            answers.append(error)

    thread = threading.Thread(target=work, name="replica")
    thread.start()
    thread.join(10)
    return answers[0]


ANSWER = ("r", (1,), {"f": 2})


@pytest.mark.parametrize("is_new", [False, True])
def test_rs_own_thread_calls_r_as_before(monkeypatch: pytest.MonkeyPatch, is_new: bool):
    assert reticulate(monkeypatch, is_new=is_new)() == ANSWER


def test_an_old_reticulate_refuses_every_other_thread(monkeypatch: pytest.MonkeyPatch):
    error = on_another_thread(reticulate(monkeypatch, is_new=False))
    assert isinstance(error, CallbackError)
    assert '"replica"' in error.problem
    assert "estimator()" in (error.remedy or "")


def test_a_new_reticulate_refuses_only_where_rs_thread_waits_in_tensorflow(
    monkeypatch: pytest.MonkeyPatch,
):
    function = reticulate(monkeypatch, is_new=True)
    assert on_another_thread(function) == ANSWER
    waiting: dict[str, Any] = {"__name__": "tensorflow.python.distribute.mirrored_run"}
    exec("def run(function): return function()", waiting)
    assert isinstance(waiting["run"](lambda: on_another_thread(function)), CallbackError)


def test_without_r_nothing_is_done():
    assert "rpycall" not in sys.modules
    r_calls.install()
    assert "rpytools.call" not in sys.modules
