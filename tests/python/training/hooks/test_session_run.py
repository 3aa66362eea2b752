"""Hooks made from user functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.hooks import hook, model, source, trained
from support.sampling import sampled
from support.strategies import every_strategy, settings

from tfdistribute.callbacks import Callback
from tfdistribute.errors import (
    CallbackError,
)
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.model_directory import global_step

MOMENTS = ["begin", "after_create_session", "before_run", "after_run", "end"]

pytestmark = pytest.mark.usefixtures("tensorflow")


@every_strategy
def test_functions_get_the_values_they_ask_for_on_the_calling_thread(tmp_path: Path, strategy: str):
    called: list[str] = []
    losses: list[float] = []
    threads: set[threading.Thread] = set()

    def note(moment: str) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            called.append(moment)
            threads.add(threading.current_thread())
            if moment == "before_run":
                return {"loss": "loss", "weights": "linear/linear_model/x/weights"}
            if moment == "after_run":
                losses.append(float(arguments[1]["results"]["loss"]))
                assert arguments[1]["results"]["weights"].shape == (1, 1)
            return None

        return function

    described = hook("session_run", **{moment: note(moment) for moment in MOMENTS})
    history = trained(
        tmp_path, [described, hook("history_saver", every_n_steps=1)], strategy, steps=3
    )
    assert called == [*MOMENTS[:2], *(["before_run", "after_run"] * 3), "end"]
    assert threads == {threading.current_thread()}
    # Reference: TensorFlow's own record of the training.
    assert losses == history.losses
    assert len(losses) == 3


@sampled(
    ("moment", "strategy"),
    [(moment, strategy) for moment in MOMENTS for strategy in ("none", "mirrored")],
    check=[("begin", "none"), ("before_run", "mirrored"), ("after_run", "none"), ("end", "none")],
)
def test_an_error_in_a_function_ends_training_and_is_raised(
    tmp_path: Path, moment: str, strategy: str
):
    calls = [0]

    def fail(*arguments: Any) -> dict[str, Any]:
        calls[0] += 1
        wait = 7 if moment in ("before_run", "after_run") else 1
        return {"error": "the sky fell"} if calls[0] == wait else {"value": None}

    described = hook("session_run", **{moment: Callback(fail, ("...",))})
    with pytest.raises(CallbackError, match="the sky fell"):
        trained(tmp_path, [described], strategy, save_checkpoints_steps=5)
    if moment in ("before_run", "after_run"):
        # Earlier checkpoints remain, and training continues from there.
        assert global_step(str(tmp_path)) == 5
    trained(tmp_path, [], strategy, steps=1)


def test_a_function_can_end_training(tmp_path: Path):
    def after_run(context: Any, values: Any) -> None:
        if values["results"]["step"] >= 4:
            context.request_stop()

    described = hook(
        "session_run", before_run=lambda context: {"step": "global_step"}, after_run=after_run
    )
    history = trained(tmp_path, [described], steps=50)
    assert history.stopped_by == "hook_session_run()"
    assert global_step(str(tmp_path)) in (4, 5)


def test_evaluations_take_hooks_too(tmp_path: Path):
    trained(tmp_path, [], steps=2)
    calls: list[int] = []
    described = hook("session_run", after_run=lambda context, values: calls.append(1))
    evaluate(model(tmp_path), settings(), source(epochs=1), hooks=[described])
    assert len(calls) == 4
