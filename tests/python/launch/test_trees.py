"""Boosted trees that a job grows with the workers of ydf: the same trees as in one process, also after losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import cluster_task
from support.checkpoints import variables
from support.fault_jobs import FaultJob, fault_job
from support.job_fakes import row

from tfdistribute.launch import job_handle
from tfdistribute.training.trees.ydf import trees_grown

pytest.importorskip("ydf")
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

OPTIONS: dict[str, Any] = {"models": ["trees"], "verb": "train", "epochs": 1, "snapshots": True}
# They take seconds in a cluster.
MANY = "600"


def alone(directory: Path) -> dict[str, Any]:
    answer = cluster_task.train(directory, "trees", OPTIONS)
    assert "value" in answer, answer
    return variables(directory / "trees" / "model")


def job(directory: Path, **fields: Any) -> Any:
    return fault_job(directory, OPTIONS, model_dir=str(directory / "trees" / "model"), **fields)


def assert_equal(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_grow_the_trees_of_one_process(
    tensorflow: Any, tmp_path: Path, workers: int
) -> None:
    expected = alone(tmp_path / "alone")
    with job(tmp_path / "job", workers=workers) as running:
        state = running.end()
    assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 0, 0), state
    assert_equal(variables(running.model_dir), expected)
    assert [each["global_step"] for each in state["evaluations"]] == [expected["global_step"]]
    assert len(state["history"]["training"]["loss"]) == 20


def await_trees(running: FaultJob, least: int) -> None:
    running.await_state(lambda state: (row(state, "chief 0")["step"] or 0) >= least)


@pytest.mark.parametrize("task", ["worker 0", "chief 0"])
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
    assert_equal(variables(running.model_dir), expected)
    # The training continued from a snapshot.
    assert state["steps_lost"] < 400


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
    assert_equal(variables(running.model_dir), expected)


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
