"""How long steps wait for their input, and how busy a training keeps its GPUs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import models
from support.hooks import source
from support.inputs import from_function
from support.strategies import settings

from tfdistribute.engine import tf
from tfdistribute.metrics_page import in_words
from tfdistribute.training.history import History
from tfdistribute.training.train import train
from tfdistribute.training.utilization import Utilization

STEPS = 60


def waiting_rows(seconds: float) -> Callable[..., Any]:
    """A dataset of batches of four rows, each of which takes some seconds to read."""

    def read(number: Any) -> Any:
        time.sleep(seconds)
        return np.full(4, float(number), np.float32)

    def dataset() -> Any:
        numbers = tf.data.Dataset.range(STEPS)
        rows = numbers.map(lambda number: tf.numpy_function(read, [number], tf.float32))
        return rows.map(lambda x: ({"x": tf.ensure_shape(x, [4])}, tf.ensure_shape(x, [4])))

    return dataset


def busy_model(directory: Path, seconds: float) -> Any:
    """A line whose steps take some seconds."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        def slow(x: Any) -> Any:
            time.sleep(seconds)
            return x

        x = tf.ensure_shape(tf.numpy_function(slow, [features["x"]], tf.float32), [4])
        weight = tf.compat.v1.get_variable("w", initializer=0.5)
        loss = tf.reduce_mean(tf.square(weight * x - labels))
        step = tf.compat.v1.train.get_or_create_global_step()
        train_op = tf.compat.v1.train.GradientDescentOptimizer(1e-6).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return models.model("custom", directory, model_fn=model_fn)


def waited(directory: Path, read_s: float, step_s: float, strategy: str = "none") -> float:
    history = train(
        busy_model(directory, step_s),
        settings(strategy),
        from_function(waiting_rows(read_s)),
        steps=STEPS,
    )
    return history.utilization.values["input_wait"]


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("strategy", ["none", "mirrored"])
@pytest.mark.parametrize(
    ("read_s", "step_s", "least", "most"), [(0.04, 0.0, 0.7, 1.0), (0.0, 0.08, 0.0, 0.5)]
)
def test_the_share_of_the_time_in_which_steps_wait_is_measured(
    tmp_path: Path, strategy: str, read_s: float, step_s: float, least: float, most: float
):
    assert least <= waited(tmp_path, read_s, step_s, strategy) <= most


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_a_batch_may_lack_labels(tmp_path: Path, strategy: str):
    def model_fn(features: Any, mode: str) -> Any:
        mean = tf.compat.v1.get_variable("mean", initializer=0.0)
        loss = tf.reduce_mean(tf.square(features - mean))
        step = tf.compat.v1.train.get_or_create_global_step()
        train_op = tf.compat.v1.train.GradientDescentOptimizer(0.25).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    model = models.model("custom", tmp_path, model_fn=model_fn)
    rows = from_function(lambda: tf.data.Dataset.from_tensors(tf.fill([4], 3.0)).repeat(20))
    train(model, settings(strategy), rows, steps=5)
    assert (tf.train.latest_checkpoint(str(tmp_path)) or "").endswith("-5")


@pytest.mark.usefixtures("tensorflow")
def test_rows_in_memory_are_not_waited_for(tmp_path: Path):
    history = train(models.line(tmp_path), settings("none"), source(), steps=20)
    assert "input_wait" not in history.utilization.values


def test_a_training_that_waits_long_says_what_is_faster(monkeypatch: pytest.MonkeyPatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    heard: list[dict[str, Any]] = []
    history = History(listener=heard.append)
    with history.save():
        for second in range(12):
            now = 100.0 + second
            history.utilization.sample(0.75 * second)
            history.note_step(second + 1, 0.5, in_record=True)
    assert history.utilization.values == {"input_wait": 0.75}
    assert heard[-3]["input_wait"] == 0.75
    assert history.notes == [
        "Steps waited for their input 75% of the time. Rows in memory, or in files of write_arrow(), are read faster."
    ]
    assert history.as_columns()["input_wait"] == 0.75


def test_a_session_that_was_opened_again_counts_anew(monkeypatch: pytest.MonkeyPatch):
    use = Utilization()
    for now, seconds in ((10.0, 0.0), (12.0, 2.0), (14.0, 0.0), (18.0, 1.0)):
        monkeypatch.setattr(time, "monotonic", lambda now=now: now)
        use.sample(seconds)
    assert use.values == {"input_wait": 0.25}


class FakeNvml:
    """nvidia-ml-py with two GPUs."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        self.asked.append(index)
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:  # noqa: N802
        self.asked.append(uuid)
        return 1

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(gpu=[40, 80][handle], memory=1)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(used=[1, 3][handle] * 2**30)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        return [100_000, 250_000][handle]


@pytest.mark.parametrize(
    ("visible", "asked", "busy", "memory", "power"),
    [
        (None, [0, 1], 0.6, 4096, 350),
        ("1", [1], 0.8, 3072, 250),
        ("GPU-1b3c", ["GPU-1b3c"], 0.8, 3072, 250),
    ],
)
def test_the_gpus_that_a_process_sees_are_sampled(
    monkeypatch: pytest.MonkeyPatch,
    visible: str | None,
    asked: list[Any],
    busy: float,
    memory: float,
    power: float,
):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    use = Utilization()
    use.sample(None)
    assert nvml.asked == asked
    expected = {"gpu_utilization": busy, "gpu_memory_mb": memory, "gpu_power_w": power}
    assert use.values == pytest.approx(expected)


@pytest.mark.parametrize("reason", ["hidden", "no package", "no driver"])
def test_without_a_gpu_nothing_is_sampled(monkeypatch: pytest.MonkeyPatch, reason: str):
    nvml: Any = None if reason == "no package" else FakeNvml()
    if reason == "hidden":
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    elif reason == "no driver":
        nvml.nvmlInit = lambda: exec("raise OSError('no driver')")
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    use = Utilization()
    use.sample(None)
    assert use.values == {}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, ""),
        ({"input_wait": 0.1}, ""),
        ({"input_wait": 0.62}, "waits for input 62%"),
        (
            {"gpu_utilization": 0.85, "gpu_memory_mb": 12288.0, "gpu_power_w": 250.0},
            "GPU 85%, 12.0 GB, 250 W",
        ),
    ],
)
def test_use_is_shown_where_it_matters(values: dict[str, float], text: str):
    assert in_words(values) == text


@pytest.mark.usefixtures("tensorflow")
def test_an_iterator_that_no_step_reads_need_not_be_initialized(tmp_path: Path):
    v1 = tf.compat.v1

    def rows() -> Any:
        unread = v1.data.make_initializable_iterator(tf.data.Dataset.range(9)).get_next()
        labels = v1.data.make_one_shot_iterator(tf.data.Dataset.range(9).batch(4)).get_next()
        return {"unread": unread}, labels

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        weight = v1.get_variable("w", initializer=0.5)
        loss = tf.reduce_mean(tf.square(weight - tf.cast(labels, tf.float32)))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    described = models.model("custom", tmp_path, model_fn=model_fn)
    history = train(described, settings(), from_function(rows), steps=2)
    assert list(history.steps) == [1, 2]
