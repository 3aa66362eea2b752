"""Jobs on a real Spark with two executors, from a classic session and by Spark Connect."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import cluster_task
from support.checkpoints import assert_alike, assert_identical, variables
from support.fault_jobs import TASK
from support.job_fakes import fake_job, result, row, state_when
from support.remote_hosts import ancestor, mark, processes_that_name, soon
from support.spark_session import SparkProcess, has_spark, spark_process

from tfdistribute.cluster.ports import free_ports
from tfdistribute.launch.job_handle import reap_supervisors, stop_job
from tfdistribute.launch.start import start_supervisor

__all__ = ["mark"]

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.cluster,
    pytest.mark.skipif(not has_spark(), reason="needs pyspark and Java: tools/setup engines"),
]

needs_ydf = pytest.mark.skipif(importlib.util.find_spec("ydf") is None, reason="needs ydf")

LEASE_S = 5
LONG = (("train", 3), ("sleep", 100))
HEALS = {"worker-0@0": (("child", True), *LONG), "chief-0@0": LONG}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkProcess]:
    with spark_process(free_ports(1)[0]) as made:
        yield made
    reap_supervisors()


def start(directory: Path, address: str, acts: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    cluster = {
        "kind": "spark",
        "sc": address,
        "workers": 2,
        "evaluator": False,
        "python": sys.executable,
        "lease_s": LEASE_S,
        **fields.pop("cluster", {}),
    }
    return start_supervisor(fake_job(directory, acts, cluster=cluster, **fields))


def assert_nothing_is_left(spark: SparkProcess, job: dict[str, Any]) -> None:
    assert soon(lambda: not spark.stages(), 10), spark.stages()
    name = Path(job["directory"]).name.encode()
    assert soon(lambda: not processes_that_name(name), 10), processes_that_name(name)
    assert not Path(job["directory"]).exists()


def is_training(state: dict[str, Any]) -> bool:
    return all(each["step"] == 3 for each in state["tasks"])


@pytest.mark.parametrize(
    ("way", "model"),
    [
        ("address", "custom"),
        pytest.param("connect", "custom", marks=pytest.mark.full),
        pytest.param("connect", "trees", marks=[needs_ydf, pytest.mark.full]),
    ],
)
def test_two_barrier_tasks_train_the_weights_of_one_process(
    tensorflow: ModuleType, tmp_path: Path, spark: SparkProcess, way: str, model: str
):
    options = cluster_task.TRAININGS[model]
    cluster_task.train(tmp_path / "alone", model, {**options, "config": {}})
    alone = variables(tmp_path / "alone" / model / "model")
    job = start(
        tmp_path,
        getattr(spark, way),
        {},
        command=[sys.executable, str(TASK), str(tmp_path), json.dumps(options)],
        environment={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "TF_CPP_MIN_LOG_LEVEL": "2"},
        model_dir=str(tmp_path / model / "model"),
        verb="train",
        max_steps=options.get("max_steps"),
    )
    state = result(job, 100)
    assert (state["state"], state["global_step"]) == ("done", alone["global_step"]), state[
        "failure"
    ]
    assert [each["host"] for each in state["tasks"]] == ["barrier task 0", "barrier task 1"]
    trained = variables(tmp_path / model / "model")
    (assert_identical if model == "trees" else assert_alike)(trained, alone)
    assert_nothing_is_left(spark, job)


@pytest.mark.parametrize(
    "lost",
    ["pyspark.daemon", pytest.param("CoarseGrainedExecutorBackend", marks=pytest.mark.full)],
)
def test_the_stage_of_a_killed_task_or_executor_is_submitted_again(
    mark: Path, spark: SparkProcess, lost: str
):
    job = start(mark, spark.address, HEALS)
    state = state_when(job, is_training, 60)
    # Above the agent, its guard and the program that called home.
    os.kill(ancestor(row(state, "worker 0")["pid"], lost), signal.SIGKILL)
    killed = time.monotonic()
    state_when(job, lambda state: state["restarts"] > 0, LEASE_S)
    state = result(job, 60)
    seconds = time.monotonic() - killed
    sys.stdout.write(f"healed {seconds:.1f} s after the loss of {lost}\n")
    # A new executor takes Spark longer than a new task.
    assert seconds < LEASE_S + (10 if lost == "pyspark.daemon" else 30)
    assert state["state"] == "done", state["failure"]
    # Spark ends the other task a moment later, which on a busy machine is a further restart.
    assert state["restarts"] <= 2
    assert any("was lost with its host barrier task" in note for note in state["notes"])
    assert_nothing_is_left(spark, job)


@pytest.mark.full
@pytest.mark.parametrize("way", ["address", "connect"])
def test_stopping_a_job_ends_its_stage(mark: Path, spark: SparkProcess, way: str):
    acts = {"chief": (("save_on_interrupt", 3), *LONG), "worker": (("child", True), *LONG)}
    job = start(mark, getattr(spark, way), acts)
    state_when(job, is_training, 60)
    assert spark.stages()
    began = time.monotonic()
    state = stop_job(job)
    assert time.monotonic() - began < 10
    assert (state["state"], state["checkpoint"]) == ("stopped", 3)
    assert_nothing_is_left(spark, job)


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        ({"workers": 3}, "A barrier stage of 3 tasks needs 3 slots, and the executors of Spark"),
        ({"cpus_per_worker": 2}, "each task of Spark has 1 (spark.task.cpus)."),
        ({"gpus_per_worker": 1}, "each task of Spark has 0 (spark.task.resource.gpu.amount)."),
        ({"sc": "sc://127.0.0.1:9"}, "Connection refused"),
        ({"sc": "py4j://:secret@127.0.0.1:9"}, "Connection refused"),
    ],
)
def test_what_spark_cannot_give_is_named_before_a_task_starts(
    tmp_path: Path, spark: SparkProcess, cluster: dict[str, Any], problem: str
):
    job = start(tmp_path, spark.address, {}, cluster=cluster)
    state = result(job, 60)
    assert problem in state["failure"]["problem"]
    assert state["failure"]["kind"] == "cluster"
    assert {each["pid"] for each in state["tasks"]} == {None}


def test_a_python_that_executors_lack_is_named_in_the_words_of_spark(
    tmp_path: Path, spark: SparkProcess
):
    state = result(start(tmp_path, spark.address, {}, cluster={"python": "/no/python"}), 60)
    assert 'Cannot run program "/no/python"' in state["failure"]["problem"]
    assert not spark.stages()


# The last test, because other tests need the context.
def test_a_context_that_is_stopped_is_named(mark: Path, spark: SparkProcess):
    job = start(mark, spark.address, HEALS, cluster={"restarts": 1})
    state_when(job, is_training, 60)
    spark.stop()
    stopped = time.monotonic()
    state = result(job, 60)
    assert time.monotonic() - stopped < LEASE_S + 10
    said = r"SparkContext (was shut down|of `sc` is stopped)"
    assert re.search(said, state["failure"]["problem"]), state["failure"]
    name = Path(job["directory"]).name.encode()
    assert soon(lambda: not processes_that_name(name), 10), processes_that_name(name)
