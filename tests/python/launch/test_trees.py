"""Boosted trees that a job grows with the workers of ydf: the same trees as in one process, also after losses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import cluster_task
from support.checkpoints import assert_identical, variables
from support.cluster_job import Job, with_deadlines
from support.cluster_job import job as tasks
from support.fault_jobs import FaultJob, fault_job
from support.hosts import Host, several_hosts
from support.job_fakes import row
from support.models import model

from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.launch import job_handle
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, predict
from tfdistribute.training.trees.ydf import trees_grown

pytest.importorskip("ydf")
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

OPTIONS = {**cluster_task.TRAININGS["trees"], "snapshots": True}
# They take seconds in a cluster.
MANY = "300"


def alone(directory: Path, kind: str = "trees") -> dict[str, Any]:
    answer = cluster_task.train(directory, kind, {**OPTIONS, "models": [kind]})
    assert "value" in answer, answer
    return variables(directory / kind / "model")


def job(directory: Path, kind: str = "trees", **fields: Any) -> Any:
    model_dir = str(directory / kind / "model")
    return fault_job(directory, {**OPTIONS, "models": [kind]}, model_dir=model_dir, **fields)


@pytest.mark.parametrize(
    ("kind", "workers"), [("classes", 2), pytest.param("trees", 3, marks=pytest.mark.full)]
)
def test_workers_grow_the_trees_of_one_process(
    tensorflow: Any, tmp_path: Path, kind: str, workers: int
) -> None:
    expected = alone(tmp_path / "alone", kind)
    with job(tmp_path / "job", kind, workers=workers) as running:
        state = running.end()
    assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 0, 0), state
    assert_identical(variables(running.model_dir), expected)
    assert [each["global_step"] for each in state["evaluations"]] == [expected["global_step"]]
    assert len(state["history"]["training"]["loss"]) == 20
    if kind == "classes":
        found = predicted_classes(running.model_dir)
        assert_identical(found, predicted_classes(tmp_path / "alone" / kind / "model"))
        truth = np.array(cluster_task.CLASSES)[cluster_task.CLASS]
        assert np.mean(found["classes"].ravel().astype(str) == truth) > 0.8


def predicted_classes(model_dir: Path) -> dict[str, Any]:
    described = cluster_task.with_classes(cluster_task.source(1))
    source = read(Input, {**described, "response": None})
    trees = model("boosted_trees_classifier", model_dir)
    outputs = concatenate(predict(trees, RunSettings(), source))
    return {name: outputs[name] for name in ("classes", "probabilities")}


def await_trees(running: FaultJob, least: int) -> None:
    running.await_state(lambda state: (row(state, "chief 0")["step"] or 0) >= least)


@pytest.mark.parametrize("task", [pytest.param("worker 0", marks=pytest.mark.full), "chief 0"])
def test_a_killed_task_leaves_the_trees_as_they_are(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    monkeypatch.setenv("TEST_TREES", MANY)
    expected = alone(tmp_path / "alone")
    with job(tmp_path / "job") as running:
        await_trees(running, 10)
        running.kill(task)
        assert running.state["global_step"] < int(MANY)
        state = running.end()
    assert (state["state"], state["restarts"], state["failure"]) == ("done", 1, None), (
        running.logs()
    )
    assert_identical(variables(running.model_dir), expected)
    # The training continued from a snapshot.
    assert state["steps_lost"] < 200


@pytest.mark.full
def test_a_stopped_job_continues(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TREES", MANY)
    expected = alone(tmp_path / "alone")
    with job(tmp_path / "job") as running:
        await_trees(running, 10)
        job_handle.stop_job(running.handle)
        running.await_state(lambda state: state["state"] == "stopped")
    (kept,) = running.model_dir.glob("tmp_trees_*")
    assert 10 <= trees_grown(str(kept)) < int(MANY)
    with job(tmp_path / "job") as running:
        running.end()
    assert_identical(variables(running.model_dir), expected)


@pytest.mark.full
def test_what_a_cluster_cannot_grow_is_refused_by_name(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_SPLITS", "oblique")
    with job(tmp_path) as running:
        state = running.end()
    assert state["state"] == "failed"
    assert "`splits` is 'oblique', which boosted trees support in one process" in str(
        state["failure"]
    )


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    with several_hosts(2) as made:
        yield made


# Without a supervisor, which would replace a lost task.
ALONE = {"TFDISTRIBUTE_EVENTS": ""}
SOON = {"start_timeout_s": 20, "stall_timeout_s": 5}


def test_two_hosts_grow_the_trees_of_one_process(
    tensorflow: Any, tmp_path: Path, hosts: list[Host]
) -> None:
    expected = alone(tmp_path / "alone")
    with tasks(tmp_path / "hosts", OPTIONS, hosts=hosts) as running:
        running.start_all(**ALONE)
        assert set(running.wait("chief-0", "worker-0", timeout_s=120).values()) == {0}
        assert_identical(variables(running.model_dir("trees")), expected)


@pytest.mark.full
@pytest.mark.parametrize("frozen", [False, True])
def test_a_chief_without_a_supervisor_names_the_worker_that_it_lost(
    tensorflow: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hosts: list[Host],
    frozen: bool,
) -> None:
    monkeypatch.setenv("TEST_TREES", "100000")
    with tasks(tmp_path, {**OPTIONS, "config": {}}, hosts=hosts) as running:
        running.start_all(**ALONE, **with_deadlines(running, **SOON))
        await_snapshot(running)
        (running.freeze if frozen else running.kill)("worker-0")
        lost = time.monotonic()
        assert running.wait("chief-0", timeout_s=60) == {"chief-0": 1}
        assert 4 < time.monotonic() - lost < 40
        error = running.error("chief-0", "trees")
        address = running.cluster["worker"][0]
        assert error["kind"] == "lost_peer", running.logs()
        assert f"chief 0 needs worker 0 ({address}), which no longer answers." in error["problem"]
        assert "start all tasks again as new processes" in error["remedy"]


def await_snapshot(running: Job) -> None:
    end = time.monotonic() + 90
    while not any(trees_grown(str(each)) for each in running.model_dir("trees").glob("tmp_*")):
        assert time.monotonic() < end, running.logs()
        time.sleep(0.1)


@pytest.mark.full
def test_hosts_without_a_shared_directory_grow_no_trees(
    tensorflow: Any, tmp_path: Path, hosts: list[Host]
) -> None:
    options = {**OPTIONS, "share_s": 1, "config": {}}
    with tasks(tmp_path, options, hosts=hosts) as running:
        deadlines = with_deadlines(running, **SOON)
        running.start("chief", **ALONE, **deadlines)
        own = {**json.loads(deadlines["TEST_OPTIONS"]), "model_dir": "elsewhere"}
        running.start("worker", **ALONE, TEST_OPTIONS=json.dumps(own))
        running.wait("chief-0", "worker-0", timeout_s=100)
        error = running.error("worker-0", "trees")
        assert error["kind"] == "model_directory", running.logs()
        assert (
            f'worker 0 does not see in `model_dir` "{tmp_path}/trees/elsewhere"' in error["problem"]
        )
        error = running.error("chief-0", "trees")
        assert "worker 0" in error["problem"]
        assert "did not start in time" in error["problem"]
