"""Training with a cluster of processes: the same numbers as one process, and each row read once."""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import cluster_task
from support.checkpoints import assert_alike, variables
from support.cluster_job import Job, job
from support.sampling import sampled

from tfdistribute import engine, versions
from tfdistribute.training.verification import MIXED_TOLERANCE

MULTI_WORKER = {"strategy": {"kind": "multi_worker"}}
IN_PARTS = {"strategy": {"kind": "multi_worker", "devices_per_replica": 2}}
# The one process takes each batch as a whole.
CONFIGS = {
    # Not the model of Keras 3: its normalisation exchanges values between devices before the loss is known.
    **{key: {"micro_batches": 4} for key in ("custom", "keras", "loop", "sparse")},
    "parts": {**IN_PARTS, "micro_batches": 4},
    "dropping": {"seed": 6},
}
SERVERS = {"strategy": {"kind": "parameter_server"}}
# Weights of one feature each, or of both.
KERNELS = ("a/weights", "b/weights", "kernel")
FOUND = versions.tensorflow() or ""
# TensorFlow 2.15 has no Keras 3. With other versions than the default, fewer models have to show that the processes
# still work together.
KERAS_3 = ["keras 3"] if versions.is_newer(FOUND or None) else []
MORE = ["linear", "keras", "parts", "loop"] if FOUND.startswith(versions.DEFAULT) else []
TWO_WORKERS = ["custom", "sparse", *MORE, *KERAS_3]
# With threads of its own for each session, tasks would wait for each other for ever.
TWO_THREADS = {"inter_op_parallelism_threads": 2}
QUIET = {"save_summary_steps": None, "log_step_count_steps": None}

pytestmark = pytest.mark.jobs


@pytest.fixture(scope="module")
def reference(tensorflow: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Train in this process alone, once per model and length."""
    directory = tmp_path_factory.mktemp("alone")
    known: dict[Any, dict[str, Any]] = {}

    def trained(model: str, max_steps: int) -> dict[str, Any]:
        if (model, max_steps) not in known:
            options = {"max_steps": max_steps, "in_order": KERAS_3}
            answer = cluster_task.train(directory / str(max_steps), model, options)
            assert "value" in answer, answer["error"]["traceback"]
            known[model, max_steps] = {
                "variables": variables(directory / str(max_steps) / model / "model"),
                "evaluation": answer["value"]["evaluation"][-1],
                "losses": answer["value"]["training"]["loss"],
            }
        return known[model, max_steps]

    return trained


def files(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@contextlib.contextmanager
def on_cores(count: int | None) -> Iterator[None]:
    """Limit processes started in the block to this many cores; None for all."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(own)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def assert_that_a_model_trained_as_alone(
    running: Job, model: str, alone: dict[str, Any], names: list[str]
) -> None:
    assert_alike(variables(running.model_dir(model)), alone["variables"])
    for name in names:
        if name.startswith("evaluator"):
            evaluation = running.value(name, model)["evaluation"][-1]
            assert evaluation == pytest.approx(alone["evaluation"], rel=2e-6)
        else:
            # Every task reports the loss over all of them.
            losses = running.value(name, model)["training"]["loss"]
            np.testing.assert_allclose(losses, alone["losses"], rtol=2e-6)


def assert_that_each_row_was_read_once_per_epoch(running: Job, names: list[str]) -> None:
    read = [running.rows(name) for name in names]
    assert [len(rows) for rows in read] == [24 * cluster_task.BATCH // len(names)] * len(names)
    # Three epochs.
    assert set(collections.Counter(itertools.chain(*read)).values()) == {3}


def assert_that_each_task_reported_its_part(
    running: Job, names: list[str], workers: int, models: int
) -> None:
    for name in names[:workers]:
        about = (running.directory / "custom" / f"config-{name}.txt").read_text(encoding="utf-8")
        assert json.loads(about) == {"is_chief": name == "chief-0", "task": name}

    # Task events during training.
    assert {each["step"] for each in running.events("chief-0", "checkpoint")} == {0, 10, 20, 24}
    assert [each["step"] for each in running.events("chief-0", "record")][:4] == [1, 10, 20, 24]
    for name in names[1:workers]:
        # At most ten steps a second are reported; the end is a separate event.
        assert {each["step"] for each in running.events(name, "step")} <= set(range(1, 25))
        assert any("examples_per_second" in each for each in running.events(name, "step"))
        assert running.events(name, "record") == running.events(name, "checkpoint") == []
    for name in names:
        assert [each["step"] for each in running.events(name, "finished")] == [24] * models


def assert_that_each_worker_has_devices_of_its_own(running: Job, names: list[str]) -> None:
    for name in names:
        about = (running.directory / "parts" / f"devices-{name}.txt").read_text(encoding="utf-8")
        task = f"/job:{name.replace('-', '/replica:0/task:')}"
        assert json.loads(about) == {
            f"{layer}/{variable}": f"{task}/device:CPU:{index}"
            for index, layer in enumerate(("dense", "dense_1"))
            for variable in ("kernel", "bias")
        }


def assert_that_the_tasks_took_the_same_runs(
    running: Job, names: list[str], looks_at_every_step: str | None
) -> None:
    assert all(running.runs(name) == running.runs("chief-0") for name in names)
    if looks_at_every_step is None:
        assert [running.events(name, "note") for name in names] == [[]] * len(names)
        return
    for name in names:
        own = name == looks_at_every_step
        reason = (
            "hook_session_run() looks at every step"
            if own
            else "another task does, and its notes say why"
        )
        notes = [each["text"] for each in running.events(name, "note")]
        assert notes == [f"This training takes one step per run: {reason}."]


def assert_that_keras_3_gives_these_weights(found: dict[str, Any]) -> None:
    task = cluster_task
    model = engine.keras.build(task.keras_3_model, task.SEED)
    features = {"a": task.X[:, 0], "b": task.X[:, 1]}
    rows = engine.tf.data.Dataset.from_tensor_slices((features, task.Y)).batch(task.BATCH)
    model.fit(rows, epochs=3, shuffle=False, verbose=0)
    for weight in model.weights:
        np.testing.assert_allclose(
            found[weight.path], weight.numpy(), rtol=1e-6, atol=1e-6, err_msg=weight.path
        )


def assert_that_workers_drop_different_units(running: Job) -> None:
    losses = running.value("chief-0", "dropping")["training"]["loss"]
    # Each kept unit adds two. If both workers kept the same, their number would always be even.
    kept = np.array(losses) * cluster_task.BATCH / 2
    assert {round(number) % 2 for number in kept} == {0, 1}


@pytest.mark.versions
@sampled(
    ("workers", "steps_per_run", "looks_at_every_step"),
    [(2, 1, None), (2, "auto", None), (3, "auto", "worker-1")],
    check=[(2, "auto", None)],
)
def test_workers_in_step_train_as_one_process(
    tensorflow: Any,
    reference: Any,
    tmp_path: Path,
    workers: int,
    steps_per_run: int | str,
    looks_at_every_step: str | None,
) -> None:
    models = TWO_WORKERS if workers == 2 else ["custom"]
    dropping = ["dropping"] if "keras 3" in models else []
    options = {
        "models": [*models, *dropping],
        "config": {**MULTI_WORKER, "steps_per_run": steps_per_run},
        "configs": CONFIGS,
        "in_order": KERAS_3,
        "max_steps": 24,
        "many_steps": True,
        "looks_at_every_step": looks_at_every_step,
    }
    names = ["chief-0", *(f"worker-{index}" for index in range(workers - 1))]
    with job(tmp_path, options, workers) as running:
        # With one thread per core, three workers on one core would deadlock.
        with on_cores(1 if workers == 3 else None):
            running.start_all()
        if workers == 2 and MORE:
            running.start("evaluator")
            names.append("evaluator-0")
        assert set(running.wait(*names).values()) == {0}, running.logs()

    for model in models:
        assert_that_a_model_trained_as_alone(running, model, reference(model, 24), names)
    if "parts" in models:
        assert_that_each_worker_has_devices_of_its_own(running, names[:workers])
    if dropping:
        assert_that_keras_3_gives_these_weights(variables(running.model_dir("keras 3")))
        assert_that_workers_drop_different_units(running)
    assert_that_each_row_was_read_once_per_epoch(running, names[:workers])
    assert_that_each_task_reported_its_part(running, names, workers, len(options["models"]))
    assert_that_the_tasks_took_the_same_runs(running, names[:workers], looks_at_every_step)
    takes_many = steps_per_run == "auto" and looks_at_every_step is None
    assert (max(running.runs("chief-0"), default=0) > 1) == takes_many


@pytest.mark.full
def test_compressed_gradients_train_nearly_the_same_model(
    tensorflow: Any, reference: Any, tmp_path: Path
) -> None:
    described = {"kind": "multi_worker", "communication": "ring", "compression": "bfloat16"}
    options = {
        "models": ["custom"],
        "config": {"strategy": described, **QUIET},
        "max_steps": 24,
        "compress_all": True,
    }
    with job(tmp_path, options) as running:
        running.start_all()
        assert set(running.wait("chief-0", "worker-0").values()) == {0}, running.logs()
    found, expected = variables(running.model_dir("custom")), reference("custom", 24)["variables"]
    apart = max(np.max(np.abs(found[name] - value)) for name, value in expected.items())
    assert 1e-5 < apart < MIXED_TOLERANCE


@pytest.mark.full
def test_workers_of_two_devices_each_train_every_kind_of_model_as_one_process(
    tensorflow: Any, reference: Any, tmp_path: Path
) -> None:
    # The model in parts is one of the models above.
    models = [model for model in TWO_WORKERS if model != "parts"]
    options = {
        "models": models,
        "config": IN_PARTS,
        "configs": CONFIGS,
        "in_order": KERAS_3,
        "max_steps": 24,
        "many_steps": True,
    }
    names = ["chief-0", "worker-0"]
    with job(tmp_path, options) as running:
        running.start_all()
        assert set(running.wait(*names).values()) == {0}, running.logs()
    for model in models:
        assert_that_a_model_trained_as_alone(running, model, reference(model, 24), names)


@pytest.mark.full
def test_only_the_chief_writes_checkpoints_and_summaries(tensorflow: Any, tmp_path: Path) -> None:
    options = {
        "models": ["normalised", "linear"],
        "configs": {"normalised": QUIET},
        "config": {
            "strategy": {"kind": "multi_worker", "communication": "ring"},
            "save_summary_steps": 5,
            "session_config": {"intra_op_parallelism_threads": 1, **TWO_THREADS},
        },
        "epochs": 2,
    }
    # Tasks must not try to reach each other through a proxy for the web.
    environment = {"TFDISTRIBUTE_EVENTS": "", "https_proxy": "http://127.0.0.1:9"}
    with job(tmp_path, options) as running:
        running.start_all(**environment)
        running.start("evaluator", **environment)
        ended = running.wait("chief-0", "worker-0", "evaluator-0")
        assert set(ended.values()) == {0}, running.logs()

    for model in options["models"]:
        directory = running.model_dir(model)
        kept = {"model.ckpt-0.index", "model.ckpt-10.index", "model.ckpt-16.index"}
        assert kept <= files(directory)
        assert [name for name in files(directory) if name.startswith("tmp_")] == []
        assert [path.name for path in directory.iterdir() if path.is_dir()] == ["eval"]
        assert len([name for name in files(directory) if "tfevents" in name]) == 1
        evaluated = running.value("evaluator-0", model)["evaluation"]
        # Without max_steps, the chief's progress file shows the last checkpoint.
        assert evaluated[-1]["global_step"] == 16
    means = variables(running.model_dir("normalised"))
    assert abs(means["batch_normalization/moving_mean"][0]) > 0


def test_workers_of_a_parameter_server_read_each_row_once(tensorflow: Any, tmp_path: Path) -> None:
    options = {"models": ["custom", "linear", "keras"], "config": {**SERVERS, **QUIET}, "epochs": 3}
    options["config"]["session_config"] = TWO_THREADS
    with job(tmp_path, options, workers=2, ps=1) as running:
        # Without a supervisor, the server exits by itself.
        running.start_all(TFDISTRIBUTE_EVENTS="")
        ended = running.wait("chief-0", "worker-0", "ps-0")
        assert set(ended.values()) == {0}, running.logs()

    chief, worker = running.rows("chief-0"), running.rows("worker-0")
    assert len(chief) == len(worker) == 3 * cluster_task.ROWS // 2
    assert set(collections.Counter(chief + worker).values()) == {3}
    for model in options["models"]:
        # The last checkpoint holds the steps of both.
        assert running.value("chief-0", model)["global_step"] == 24
        weights = variables(running.model_dir(model))
        kernels = [value.ravel() for name, value in weights.items() if name.endswith(KERNELS)]
        np.testing.assert_allclose(np.concatenate(kernels), [1, -2], atol=0.5)
