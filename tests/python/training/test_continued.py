"""Trainings that continue in one model directory: the rows they read, their lock, and their end by SIGTERM."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.hooks import hook
from support.inputs import in_memory
from support.models import line, sgd
from support.sampling import diagonal

from tfdistribute.checkpoints.lock import NAME, ModelDirectoryLock
from tfdistribute.descriptions import read
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.inputs import Input
from tfdistribute.run_config import RunSettings
from tfdistribute.sharding import RangePlan, Shard
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import EvalSpec, TrainSpec, train_and_evaluate

ROWS = 60
X = np.random.default_rng(3).normal(size=ROWS).astype("float32")
Y = (2 * X + np.random.default_rng(4).normal(size=ROWS)).astype("float32")
SETTINGS = read(RunSettings, {"seed": 1})


def rows(kind: str, folder: Path, epochs: int | None, batch_size: int = 10) -> Input:
    if kind == "memory":
        return in_memory({"x": X, "y": Y}, batch_size=batch_size, epochs=epochs)
    path = folder / "rows.csv"
    lines = [f"{x!r},{y!r}" for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    path.write_text("\n".join(["x,y", *lines]), encoding="utf-8")
    fields = {"paths": [str(path)], "response": "y", "batch_size": batch_size, "epochs": epochs}
    return read(Input, {"kind": "csv", **fields})


def weights(tf: Any, model_dir: Path) -> list[float]:
    reader = tf.train.load_checkpoint(str(model_dir))
    names = [name for name in reader.get_variable_to_shape_map() if name.startswith("linear/")]
    return [float(reader.get_tensor(name).ravel()[0]) for name in sorted(names)]


# The calls of train() with their epochs and steps, and the epochs and steps of the one call that equals them.
CALLS = [(5, None, 4, None, 20), (3, 1, None, 3, None), (4, 1, 4, None, 16)]


@diagonal(("kind", "case"), ["csv", "memory"], CALLS)
def test_several_trainings_read_the_rows_of_one(
    tensorflow: Any, tmp_path: Path, kind: str, case: tuple[Any, ...]
):
    calls, epochs, steps, once_epochs, once_steps = case
    several, once = (line(tmp_path / name, optimizer=sgd(0.05)) for name in ("several", "once"))
    for _ in range(calls):
        train(several, SETTINGS, rows(kind, tmp_path, epochs), steps=steps)
    train(once, SETTINGS, rows(kind, tmp_path, once_epochs), steps=once_steps)
    found, expected = (weights(tensorflow, tmp_path / name) for name in ("several", "once"))
    assert found == expected
    assert global_step(several.model_dir) == global_step(once.model_dir)


def test_another_batch_size_continues_after_the_rows_read(tensorflow: Any, tmp_path: Path):
    del tensorflow
    model, sizes = line(tmp_path, optimizer=sgd(0.05)), (10, 5)
    for size in sizes:
        source = rows("memory", tmp_path, None, size)
        train(model, SETTINGS, source, steps=2)
    position = (tmp_path / "tfdistribute-position.json").read_text(encoding="utf-8")
    assert '"row": 20' in position


@pytest.mark.parametrize("first", [0, 7, 11, 25])
@pytest.mark.parametrize("pipelines", [1, 2, 3])
def test_pipelines_of_a_continued_stream_share_its_rows(first: int, pipelines: int):
    plans = [
        RangePlan(11, 2, 6, Shard(pipelines, each, pipelines), first) for each in range(pipelines)
    ]
    own = [plan.own_examples for plan in plans]
    assert sum(each or 0 for each in own) == 22
    batches = [[count for count, _ in plan.chunks(100)] for plan in plans]
    assert len({sum(each) for each in batches}) == 1


@diagonal(("kind", "shares"), ["memory", "csv"], [(1, 1), (1, 2), (3, 3), (2, 1)])
def test_a_restarted_task_reads_the_batches_that_it_had_left(
    tensorflow: Any, tmp_path: Path, kind: str, shares: tuple[int, int]
):
    tf, (pipelines, replicas) = tensorflow, shares
    # 73 rows are left, so the last step has one row, and pipelines of files repeat one.
    source, left = rows(kind, tmp_path, 2, 12), 73
    for pipeline in range(pipelines):
        context = tf.distribute.InputContext(pipelines, pipeline, replicas)

        def batches(done: int, context: Any = context) -> list[list[float]]:
            begun = source.starting_at(7, 2 * ROWS - left + done)
            dataset = begun.input_fn("train", 5)(context)
            return [labels.numpy().tolist() for _, labels in dataset]

        every = batches(0)
        own = replicas // pipelines or 1
        turns = pipelines if replicas == 1 else 1
        for step in range(1, len(every) // own + 2):
            assert batches(step * turns * 12) == every[step * own :]


@pytest.mark.parametrize("verb", ["train", "train_and_evaluate"])
def test_a_second_training_in_a_directory_is_an_error(tensorflow: Any, tmp_path: Path, verb: str):
    del tensorflow
    source, model = rows("memory", tmp_path, 1), line(tmp_path)

    def run() -> None:
        if verb == "train":
            train(model, SETTINGS, source)
        else:
            train_and_evaluate(model, SETTINGS, TrainSpec(source), EvalSpec(source))

    lock = ModelDirectoryLock(str(tmp_path))
    try:
        with pytest.raises(ModelDirectoryError, match=f"another training: .*pid {os.getpid()}"):
            run()
    finally:
        lock.release()
    run()
    assert not (tmp_path / NAME).exists()


@pytest.mark.smoke
def test_a_model_at_the_last_step_takes_none(tensorflow: Any, tmp_path: Path):
    del tensorflow
    for _ in range(3):
        hooks = [hook("stop_at_step", last_step=5)]
        train(line(tmp_path), SETTINGS, rows("memory", tmp_path, None), hooks=hooks)
    assert global_step(str(tmp_path)) == 5


def test_data_that_end_before_the_steps_are_noted(tensorflow: Any, tmp_path: Path):
    del tensorflow
    history = train(line(tmp_path), SETTINGS, rows("memory", tmp_path, 1), steps=1000)
    (note,) = [each for each in history.notes if "data ends" in each]
    assert "after 6 of the 1000 steps" in note
    assert "epochs = NULL" in note


_TRAINS = """
import os, signal, sys, threading
sys.path.insert(0, {tests!r})
import numpy as np
from support.inputs import in_memory
from support.models import line
from tfdistribute.descriptions import read
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train
x = np.arange(60, dtype="float32") / 60
def listen(event):
    if event.get("step", 0) > 200:
        os.kill(os.getpid(), signal.SIGTERM)
train(line({model_dir!r}), read(RunSettings, {{"seed": 1, "save_checkpoints_secs": 10000}}),
      in_memory({{"x": x, "y": x}}, batch_size=10, epochs=None), steps=10**8, listener=listen)
"""


def test_sigterm_saves_the_last_step_and_ends_the_program(run_python: Any, tmp_path: Path):
    model_dir = tmp_path / "model"
    tests = str(Path(__file__).parent.parent)
    code = _TRAINS.format(tests=tests, model_dir=str(model_dir))
    finished = run_python(code, timeout_s=120, check=False)
    assert finished.returncode == -signal.SIGTERM
    assert global_step(str(model_dir)) > 200
    assert not (model_dir / NAME).exists()


def test_the_handler_of_sigterm_is_restored(tensorflow: Any, tmp_path: Path):
    del tensorflow
    before = signal.getsignal(signal.SIGTERM)
    train(line(tmp_path), SETTINGS, rows("memory", tmp_path, 1))
    assert signal.getsignal(signal.SIGTERM) == before
