"""Evaluation and prediction by several tasks, which are performed one after another in one process."""

from __future__ import annotations

import functools
import itertools
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import models
from support.inputs import from_function, in_memory
from support.sampling import sampled

from tfdistribute import engine, history_file, task_events
from tfdistribute.bridge import jobs
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.cluster.spec import LocalCluster
from tfdistribute.descriptions import read
from tfdistribute.errors import (
    InputError,
    ModelDirectoryError,
    RunConfigError,
    TrainingError,
    UnsupportedError,
)
from tfdistribute.inputs import Input
from tfdistribute.launch.host import logs
from tfdistribute.models import Model
from tfdistribute.models.custom import Custom
from tfdistribute.plan import Workload
from tfdistribute.run_config import RunSettings
from tfdistribute.training import (
    concatenate,
    evaluate,
    evaluate_shard,
    predict,
    predict_shard,
    train,
)
from tfdistribute.training.multi_worker.results import TaskResults

# A prime number of rows.
ROWS = 37
RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=ROWS)
Z = RANDOM.normal(size=ROWS)
CLASS = (X + RANDOM.normal(size=ROWS) > 0).astype(float)
WEIGHT = RANDOM.random(ROWS)

# Metrics made of counts, which are those of one process to the bit.
COUNTS = {"accuracy", "accuracy_baseline", "auc", "auc_precision_recall", "precision", "recall"}


def rows(count: int = ROWS, batch_size: int = 4) -> Input:
    columns = {"x": X, "z": Z, "w": WEIGHT, "y": CLASS}
    kept = {name: values[:count] for name, values in columns.items()}
    return in_memory(kept, batch_size=batch_size)


def csv(path: Path) -> Input:
    table = zip(X.tolist(), Z.tolist(), WEIGHT.tolist(), CLASS.tolist(), strict=True)
    lines = [f"{x!r},{z!r},{w!r},{y}\n" for x, z, w, y in table]
    path.write_text("x,z,w,y\n" + "".join(lines), encoding="utf-8")
    return read(Input, {"kind": "csv", "paths": str(path), "response": "y", "batch_size": 4})


def canned(kind: str, **fields: Any) -> Callable[[Path], Model]:
    columns = [{"kind": "numeric", "key": key} for key in ("x", "z")]

    def make(directory: Path) -> Model:
        described = {"kind": kind, "feature_columns": columns, "model_dir": str(directory)}
        return read(Model, {**described, **fields})

    return make


def model_fn(features: Any, labels: Any, mode: str, params: Any) -> dict[str, Any]:
    tf = engine.tf
    v1 = tf.compat.v1
    slope = v1.get_variable("slope", initializer=0.5)
    predicted = tf.sigmoid(slope * features["x"])
    predictions = {"probability": predicted}
    if mode == "infer":
        return {"predictions": predictions}
    each = tf.square(predicted - labels)
    metrics: dict[str, Any] = {}
    if mode == "eval":
        auc = tf.keras.metrics.AUC()
        auc.update_state(labels, predicted)
        metrics = {
            "auc": auc,
            "rmse": v1.metrics.root_mean_squared_error(labels, predicted),
            "precision": v1.metrics.precision(labels > 0, predicted > 0.5),
        }
        if params:
            largest = v1.get_variable(
                "largest",
                initializer=0.0,
                trainable=False,
                collections=[v1.GraphKeys.LOCAL_VARIABLES],
            )
            update = largest.assign(tf.maximum(largest, tf.reduce_max(each)))
            metrics["max_error"] = (largest.read_value(), update)
    return {
        "loss": tf.reduce_mean(each),
        "predictions": predictions,
        "optimizer": "sgd",
        "eval_metric_ops": metrics,
    }


def custom(directory: Path, params: Any = None) -> Model:
    return Custom(str(directory), model_fn, params)


def keras(directory: Path) -> Model:
    def built() -> Any:
        layers = engine.tf.keras.layers
        inputs = [engine.tf.keras.Input((1,), name=name) for name in ("x", "z")]
        hidden = layers.Dense(3, activation="tanh")(layers.Concatenate()(inputs))
        model = engine.tf.keras.Model(inputs, layers.Dense(1, activation="sigmoid")(hidden))
        model.compile("sgd", "binary_crossentropy", metrics=["accuracy", "mae", "AUC"])
        return model

    return models.model("keras", directory, function=built)


MODELS: dict[str, Callable[[Path], Model]] = {
    "classifier": canned("linear_classifier"),
    "weighted regressor": canned("linear_regressor", weight_column="w"),
    "custom": custom,
    "keras": keras,
}


class Tasks:
    """The tasks of one job, performed by this process: the chief last, so that it waits for nobody."""

    def __init__(self, model: Model, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._model = model
        self._events = directory / "events"
        self._monkeypatch = monkeypatch
        self.results = TaskResults(str(directory / task_events.RESULTS))

    def perform(self, verb: Callable[..., None], source: Input, tasks: int) -> None:
        for rank in reversed(range(tasks)):
            self.become(rank, tasks)
            checkpoint = newest_checkpoint(self._model.model_dir)
            verb(self._model, RunSettings(), source, checkpoint_path=checkpoint)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._events.read_text().splitlines()]

    @property
    def metrics(self) -> dict[str, float]:
        (evaluation,) = [each for each in self.events if each["event"] == "evaluation"]
        return evaluation["metrics"]

    def become(self, rank: int, tasks: int) -> None:
        self._monkeypatch.setenv(task_events.JOB, str(self._events.parent))
        self._monkeypatch.setenv(task_events.EVENTS, str(self._events))
        addresses = [f"127.0.0.1:{port}" for port in range(1, tasks + 1)]
        cluster = {"chief": addresses[:1], "worker": addresses[1:]}
        task = {"type": "worker" if rank else "chief", "index": max(0, rank - 1)}
        config = {
            "cluster": {role: each for role, each in cluster.items() if each},
            "task": task,
        }
        self._monkeypatch.setenv("TF_CONFIG", json.dumps(config))


@pytest.fixture
def tasks(
    tensorflow: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Model], Tasks]:
    del tensorflow

    def made(model: Model) -> Tasks:
        train(model, RunSettings(), rows(), steps=3)
        directory = tmp_path / "job"
        directory.mkdir()
        return Tasks(model, directory, monkeypatch)

    return made


def assert_equal(found: dict[str, float], expected: dict[str, float]) -> None:
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=0 if name in COUNTS else 1e-6, abs=0), name


SOURCES: dict[str, Callable[[Path], tuple[Input, int]]] = {
    "memory": lambda _: (rows(), 2),
    "files": lambda folder: (csv(folder / "rows.csv"), 3),
    # Two batches: the last of three tasks has no row.
    "fewer batches than tasks": lambda _: (rows(5), 3),
}


@sampled(
    ("kind", "name"),
    itertools.product(MODELS, SOURCES),
    check=[
        ("classifier", "files"),
        ("weighted regressor", "memory"),
        ("custom", "fewer batches than tasks"),
        ("keras", "memory"),
    ],
)
def test_several_tasks_evaluate_as_one_process(
    tasks: Callable[[Model], Tasks], tensorflow: Any, tmp_path: Path, kind: str, name: str
) -> None:
    model = MODELS[kind](tmp_path / "model")
    job = tasks(model)
    source, count = SOURCES[name](tmp_path)
    expected = evaluate(model, RunSettings(), source, name="alone")
    job.perform(evaluate_shard, source, count)
    found = job.metrics
    assert_equal(found, expected)
    # The result is noted once for all tasks, and only the chief writes summaries.
    assert history_file.read_evaluations(model.model_dir) == [found]
    (events,) = (tmp_path / "model" / "eval").glob("events*")
    losses = [
        value.simple_value
        for event in tensorflow.compat.v1.train.summary_iterator(str(events))
        for value in event.summary.value
        if value.tag == "loss"
    ]
    assert losses == [found["loss"]]


@sampled(
    ("kind", "name"),
    itertools.product(["classifier", "custom"], SOURCES),
    check=[
        ("classifier", "memory"),
        ("custom", "files"),
        ("custom", "fewer batches than tasks"),
    ],
)
def test_several_tasks_predict_in_the_order_of_the_input(
    tasks: Callable[[Model], Tasks], tmp_path: Path, kind: str, name: str
) -> None:
    model = MODELS[kind](tmp_path / "model")
    job = tasks(model)
    source, count = SOURCES[name](tmp_path)
    hidden = ["all_classes", "all_class_ids"]
    expected = concatenate(predict(model, RunSettings(), source, hidden_keys=hidden))
    job.perform(functools.partial(predict_shard, hidden_keys=hidden), source, count)
    found = job.results.read_predictions()
    assert found.keys() == expected.keys()
    for output, values in expected.items():
        assert found[output].dtype == values.dtype
        if values.dtype.kind == "f":
            # Tasks predict in larger batches.
            np.testing.assert_allclose(found[output], values, rtol=1e-6)
        else:
            np.testing.assert_array_equal(found[output], values)


def test_a_metric_that_is_not_a_sum_is_refused_by_name(
    tasks: Callable[[Model], Tasks], tmp_path: Path
) -> None:
    model = custom(tmp_path / "model", params=True)
    job = tasks(model)
    assert evaluate(model, RunSettings(), rows())["max_error"] > 0
    with pytest.raises(UnsupportedError, match=r"^The metric `max_error` cannot be evaluated by"):
        job.perform(evaluate_shard, rows(), 2)


def test_a_function_that_reads_its_share_is_evaluated_once(
    tasks: Callable[[Model], Tasks], tmp_path: Path
) -> None:
    model = custom(tmp_path / "model")
    job = tasks(model)

    def whole() -> Any:
        features = {"x": X.astype("float32")}
        labels = CLASS.astype("float32")
        return engine.tf.data.Dataset.from_tensor_slices((features, labels))

    def share(input_context: Any) -> Any:
        pipelines, pipeline = input_context.num_input_pipelines, input_context.input_pipeline_id
        return whole().shard(pipelines, pipeline).batch(2)

    expected = evaluate(model, RunSettings(), from_function(lambda: whole().batch(2)))
    job.perform(evaluate_shard, from_function(share), 2)
    assert_equal(job.metrics, expected)


def test_the_chief_waits_for_the_results_of_all_tasks(
    tasks: Callable[[Model], Tasks], tmp_path: Path
) -> None:
    model = custom(tmp_path / "model")
    job = tasks(model)
    events = tmp_path / "job" / "events"
    begun = time.monotonic()

    def finish_late() -> None:
        while "waiting" not in (events.read_text() if events.exists() else ""):
            assert time.monotonic() - begun < 60
            time.sleep(0.02)
        job.results.write_predictions(1, [{"probability": np.zeros(2)}], 2, in_turns=True)

    worker = threading.Thread(target=finish_late)
    worker.start()
    job.become(0, 2)
    checkpoint = newest_checkpoint(model.model_dir)
    assert checkpoint is not None
    predict_shard(model, RunSettings(), rows(), checkpoint_path=checkpoint)
    worker.join()
    told = job.events
    assert [event["event"] for event in told if event["event"] != "batch"] == [
        "tensorflow",
        "session",
        "waiting",
        "finished",
    ]
    assert next(event for event in told if event["event"] == "waiting")["for"] == "worker 0"
    # Each of the two tasks has a batch.
    assert told[1]["last_step"] == 2
    # The supervisor sees that the task has started, before its first batch.
    assert (told[2]["event"], told[2]["step"]) == ("batch", 0)


def test_results_keep_strings_and_numbers_that_are_not_finite(tmp_path: Path) -> None:
    results = TaskResults(str(tmp_path))
    texts = np.array([["a", "ö\0"], ["", "b"]], dtype=object)
    results.write_predictions(0, [{"text": texts, "x": np.array([np.nan, np.inf])}], 2, True)
    results.write_predictions(1, [], 2, True)
    # A task that was killed while it wrote.
    (tmp_path / "task-1.npz.new").write_bytes(b"PK")
    found = results.read_predictions()
    assert found["text"].tolist() == texts.tolist()
    np.testing.assert_array_equal(found["x"], [np.nan, np.inf])


def test_the_result_of_a_job_is_taken_once(tmp_path: Path) -> None:
    directory = logs.fallback_directory("taken")
    assert logs.is_usable(directory)
    evaluations = [{"global_step": 3.0, "loss": None, "auc": 0.1}]
    values = {"id": "taken", "state": "done", "evaluations": evaluations}
    Path(directory, "result.json").write_text(json.dumps(values), encoding="utf-8")
    job = {"id": "taken", "pid": 0, "directory": str(tmp_path / "gone"), "logs": directory}
    metrics = jobs.take_result({**job, "verb": "evaluate"})
    assert np.isnan(metrics.pop("loss"))
    assert metrics == {"global_step": 3.0, "auc": 0.1}
    assert not os.path.exists(directory)


def test_states_of_other_metrics_are_not_added(tmp_path: Path) -> None:
    results = TaskResults(str(tmp_path))
    results.write_states(0, {"mean/total": np.zeros(1)})
    results.write_states(1, {"auc/total": np.zeros(1)})
    with pytest.raises(TrainingError, match=r"Task 1 has other metrics than task 0: auc/total, me"):
        results.add_states(2)


TWO = LocalCluster(workers=2)


def test_what_several_tasks_cannot_share_is_refused_before_they_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(
        error: type[Exception],
        verb: str = "evaluate",
        rows: Input | None = None,
        strategy: dict[str, Any] | None = None,
    ) -> str:
        one = {"kind": "one_device", "device": "CPU:0"}
        cluster = {"kind": "local", "workers": 2}
        config = {"strategy": one, "cluster": cluster, "eval_distribute": strategy}
        estimator = {"kind": "linear_regressor", "model_dir": str(tmp_path), "config": config}
        estimator["feature_columns"] = [{"kind": "numeric", "key": "x"}]
        with pytest.raises(error) as caught:
            jobs.prepare_verb(estimator, verb, Workload(str(tmp_path)), starts=True, input=rows)
        return str(caught.value)

    def own(input_context: Any) -> None:
        del input_context

    assert "has no argument `input_context`" in refusal(InputError, rows=from_function(lambda: 0))
    assert "in the order of" in refusal(InputError, "predict", rows=from_function(own))
    assert "evaluate() needs a trained model" in refusal(
        ModelDirectoryError, rows=from_function(own)
    )
    mirrored = {"kind": "mirrored", "devices": 2}
    assert "divides an evaluation over devices" in refusal(RunConfigError, strategy=mirrored)
    # Predictions have no strategy.
    assert "predict() needs a trained model" in refusal(
        ModelDirectoryError, "predict", strategy=mirrored
    )
    assert os.listdir(tmp_path) == []
