"""Refusals before training, and the seed of its row order."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory
from support.models import line

from tfdistribute.descriptions import read
from tfdistribute.errors import BackendError, TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.predict import predict
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import EvalSpec, TrainSpec, train_and_evaluate

MIRRORED = {"kind": "mirrored", "devices": 2}


def source(rows: int, batch_size: int, **more: Any) -> Input:
    values = np.arange(rows, dtype="float32")
    return in_memory({"x": values, "y": values}, batch_size=batch_size, **more)


def test_an_uneven_last_batch_of_an_evaluation_is_refused_before_training(
    tensorflow: Any, tmp_path: Path
):
    del tensorflow
    settings = read(RunSettings, {"strategy": MIRRORED, "eval_distribute": MIRRORED})
    with pytest.raises(TfdistributeError) as caught:
        train_and_evaluate(
            line(tmp_path),
            settings,
            TrainSpec(source(32, 8), max_steps=2),
            EvalSpec(source(30, 8)),
        )
    assert caught.value.argument == "eval_distribute"
    assert not list(tmp_path.glob("model.ckpt*"))


def test_epochs_tell_the_step_at_which_a_training_will_end(tensorflow: Any, tmp_path: Path):
    del tensorflow
    events: list[dict[str, Any]] = []
    for _ in range(2):
        train(
            line(tmp_path),
            RunSettings(),
            source(8, 4, epochs=2, shuffle=False),
            listener=events.append,
        )
    steps = [event for event in events if event["event"] == "step"]
    assert {event["last_step"] for event in steps} == {4, 8}
    assert steps[-1]["step"] == 8


def test_the_inputs_own_seed_goes_before_the_runs_and_zero_is_a_seed():
    seed = RunSettings(seed=0).input_seed()
    assert source(4, 2, seed=7).shuffle_seed(seed) == 7
    assert source(4, 2).shuffle_seed(seed) == 0


def test_without_any_seed_every_run_has_another():
    settings = RunSettings(seed=None)
    assert len({settings.input_seed() for _ in range(5)}) > 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_after_a_fork_every_verb_refuses_at_once(tensorflow: Any, tmp_path: Path):
    model, settings, data = line(tmp_path), RunSettings(), source(4, 2)
    verbs: list[Callable[[], Any]] = [
        lambda: train(model, settings, data),
        lambda: train_and_evaluate(model, settings, TrainSpec(data), EvalSpec(data)),
        lambda: evaluate(model, settings, data),
        lambda: predict(model, settings, data),
        lambda: export_savedmodel(model, settings, str(tmp_path / "export")),
    ]
    train(model, settings, data)
    child = os.fork()
    if child == 0:
        # Nothing of pytest may run here. A verb that does not refuse would wait for ever.
        signal.alarm(60)
        refused = 0
        for verb in verbs:
            try:
                verb()
            except BackendError as error:
                refused += f"forked from process {os.getppid()}" in error.problem
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(verbs)
