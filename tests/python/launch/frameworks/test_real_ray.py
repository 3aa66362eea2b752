"""Jobs on a real Ray with two nodes."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
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
from support.job_fakes import command, fake_job, result, row, state_when
from support.ray_jobs import submit
from support.ray_nodes import RayNodes, actors_of, has_ray, ray_nodes
from support.remote_hosts import (
    ancestor,
    kill_tree,
    mark,
    marked,
    processes_that_name,
    soon,
)

from tfdistribute.errors import ClusterError, ModelDirectoryError
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job_handle import reap_supervisors, stop_job
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.start import start_supervisor

__all__ = ["mark"]

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.cluster,
    pytest.mark.skipif(not has_ray(), reason="needs ray: tools/setup engines"),
]

needs_ydf = pytest.mark.skipif(importlib.util.find_spec("ydf") is None, reason="needs ydf")

LEASE_S = 5
TASKS = ("chief 0", "worker 0")
LONG = (("train", 3), ("sleep", 100))
HEALS = {"worker-0@0": (("child", True), *LONG), "chief-0@0": LONG}


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    with ray_nodes() as made:
        yield made
    reap_supervisors()


def start(
    directory: Path, nodes: RayNodes, acts: Mapping[str, Any], **fields: Any
) -> dict[str, Any]:
    cluster = {
        "kind": "ray",
        "address": nodes.address,
        "workers": 2,
        "evaluator": False,
        "placement": "spread",
        "python": sys.executable,
        "lease_s": LEASE_S,
        **fields.pop("cluster", {}),
    }
    return start_supervisor(fake_job(directory, acts, cluster=cluster, **fields))


def assert_nothing_is_left(nodes: RayNodes, job: dict[str, Any]) -> None:
    assert soon(lambda: not actors_of(nodes.address), 10), actors_of(nodes.address)
    name = Path(job["directory"]).name.encode()
    assert soon(lambda: not processes_that_name(name), 10), processes_that_name(name)


def is_training(state: dict[str, Any]) -> bool:
    return all(each["step"] == 3 for each in state["tasks"])


@pytest.mark.parametrize(
    "model", ["custom", pytest.param("trees", marks=[needs_ydf, pytest.mark.full])]
)
def test_two_actors_train_the_weights_of_one_process(
    tensorflow: ModuleType, tmp_path: Path, nodes: RayNodes, model: str
):
    options = cluster_task.TRAININGS[model]
    cluster_task.train(tmp_path / "alone", model, {**options, "config": {}})
    alone = variables(tmp_path / "alone" / model / "model")
    job = start(
        tmp_path,
        nodes,
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
    assert [each["host"] for each in state["tasks"]] == ["actor 0", "actor 1"]
    trained = variables(tmp_path / model / "model")
    (assert_identical if model == "trees" else assert_alike)(trained, alone)
    assert_nothing_is_left(nodes, job)


def test_a_killed_actor_is_replaced(mark: Path, nodes: RayNodes):
    job = start(mark, nodes, HEALS)
    state_when(job, is_training, 60)
    kill_actor(job, "worker 0")
    killed = time.monotonic()
    state = result(job, 60)
    assert time.monotonic() - killed < LEASE_S + 10
    assert state["state"] == "done", state["failure"]
    assert state["restarts"] == 1
    assert any(
        "was lost with its host actor 1: the connection to it ended." in note
        for note in state["notes"]
    )
    assert_nothing_is_left(nodes, job)


def kill_actor(job: dict[str, Any], task: str) -> None:
    """Kill the process of Ray in which a task runs, above the agent, its guard and the program that called home."""
    os.kill(ancestor(pid_of(job, task), "ray::"), signal.SIGKILL)


def pid_of(job: dict[str, Any], task: str) -> int:
    return row(state_when(job, lambda state: True), task)["pid"]


@pytest.mark.full
def test_the_actor_of_a_lost_node_runs_on_another_one(mark: Path):
    with ray_nodes() as own:
        job = start(mark, own, HEALS)
        state_when(job, is_training, 60)
        raylets = {task: ancestor(pid_of(job, task), "raylet/raylet") for task in TASKS}
        lost = next(task for task, pid in raylets.items() if not is_head(pid))
        kill_tree(raylets[lost])
        killed = time.monotonic()
        # The loss is known at once. Ray itself takes longer to count a node as lost.
        state = state_when(job, lambda state: state["restarts"] == 1, LEASE_S)
        host = row(state, lost)["host"]
        assert any(f"was lost with its host {host}" in note for note in state["notes"])
        own.add_node()
        state = result(job, 60)
        sys.stdout.write(f"healed {time.monotonic() - killed:.1f} s after the loss of a node\n")
        assert (state["state"], state["restarts"]) == ("done", 1), state["failure"]
        assert_nothing_is_left(own, job)


def is_head(raylet: int) -> bool:
    return "--head" in Path(f"/proc/{raylet}/cmdline").read_text(encoding="utf-8")


@pytest.mark.full
def test_stopping_a_job_ends_its_actors(mark: Path, nodes: RayNodes):
    acts = {"chief": (("save_on_interrupt", 3), *LONG), "worker": (("child", True), *LONG)}
    job = start(mark, nodes, acts)
    state_when(job, is_training, 60)
    began = time.monotonic()
    state = stop_job(job)
    assert time.monotonic() - began < 10
    assert (state["state"], state["checkpoint"]) == ("stopped", 3)
    assert_nothing_is_left(nodes, job)


@pytest.mark.full
def test_a_killed_supervisor_leaves_no_actor(mark: Path, nodes: RayNodes):
    job = start(mark, nodes, HEALS)
    state_when(job, is_training, 60)
    os.kill(job["pid"], signal.SIGKILL)
    assert_nothing_is_left(nodes, job)
    private_directory.remove_abandoned()


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        ({"cpus_per_worker": 2}, "can never start 2 actors with 2 CPU each"),
        ({"gpus_per_worker": 1}, "can never start 2 actors with 1 CPU and 1 GPU each"),
        ({"placement": "strict_pack"}, 'the placement "strict_pack"'),
        ({"workers": 3}, "can never start 3 actors with 1 CPU each"),
        (
            {"address": "127.0.0.1:9"},
            'No Ray cluster answers at "127.0.0.1:9": Connection refused.',
        ),
        ({"address": "ray://127.0.0.1:9"}, "No Ray cluster answers"),
        ({"python": "/no/python"}, "it has no /no/python"),
    ],
)
def test_what_ray_cannot_give_is_named_before_a_task_starts(
    tmp_path: Path, nodes: RayNodes, cluster: dict[str, Any], problem: str
):
    job = start(tmp_path, nodes, {}, cluster=cluster)
    state = result(job, 60)
    assert problem in state["failure"]["problem"]
    assert state["failure"]["kind"] == "cluster"
    assert {each["pid"] for each in state["tasks"]} == {None}


@pytest.mark.full
def test_a_job_goes_on_without_its_session_and_another_one_reads_it(
    tensorflow: ModuleType, tmp_path: Path, nodes: RayNodes
):
    cluster_task.train(tmp_path / "alone", "custom", {"max_steps": 30})
    options = {
        "max_steps": 30,
        "config": {"strategy": {"kind": "multi_worker"}},
        "models": ["custom"],
    }
    model_dir = tmp_path / "custom" / "model"
    fields = {
        "command": [sys.executable, str(TASK), str(tmp_path), json.dumps(options)],
        "environment": {
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "TF_CPP_MIN_LOG_LEVEL": "2",
        },
        "model_dir": str(model_dir),
        "max_steps": 30,
    }
    code = (
        "import json, sys; from pathlib import Path; from support.ray_jobs import submit; "
        "submit(Path(sys.argv[1]), sys.argv[2], **json.loads(sys.argv[3]))"
    )
    session = [sys.executable, "-c", code, str(tmp_path), nodes.address, json.dumps(fields)]
    paths = os.pathsep.join(path for path in sys.path if path.endswith("python"))
    subprocess.run(session, check=True, timeout=60, env={**os.environ, "PYTHONPATH": paths})
    job = job_handle.find_job(str(model_dir))
    assert job is not None
    state = result(job, 100)
    assert (state["state"], state["global_step"]) == ("done", 30), state["failure"]
    assert_alike(variables(model_dir), variables(tmp_path / "alone" / "custom" / "model"))
    assert any("actor" in row["host"] for row in state["tasks"])
    assert job_handle.job_logs(job, "chief 0")
    assert_nothing_is_left(nodes, job)


@pytest.mark.full
def test_a_job_without_a_session_ends_with_nothing_left(
    mark: Path, nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "_VISIBLE_S", 1.0)
    acts = {"chief": (("save_on_interrupt", 3), *LONG), "worker": (("child", True), *LONG)}
    with pytest.raises(ClusterError, match="can never start 3 actors"):
        submit(mark, nodes.address, command=command(acts), cluster={"workers": 3})
    job = submit(mark, nodes.address, command=command(acts))
    with pytest.raises(ModelDirectoryError, match=f"Job {job['id']} of Ray"):
        submit(mark, nodes.address, command=command(acts))
    state_when(job, is_training, 60)
    state = stop_job(job)
    assert (state["state"], state["checkpoint"]) == ("stopped", 3), state
    assert soon(lambda: not Path(job["directory"]).parent.exists(), 5)
    assert_nothing_is_left(nodes, job)
    job = submit(mark, nodes.address, command=command(acts))
    supervisor = state_when(job, is_training, 60)["pid"]
    os.kill(ancestor(supervisor, "ray::"), signal.SIGKILL)
    state = state_when(job, lambda state: state["ended"] is not None, 40)
    assert "before its supervisor could write a result" in state["message"]
    assert_nothing_is_left(nodes, job)


@pytest.mark.full
def test_a_framework_that_is_gone_is_named(mark: Path):
    with ray_nodes() as own:
        job = start(mark, own, HEALS, cluster={"restarts": 1})
        state_when(job, is_training, 60)
        own.end()
    ended = time.monotonic()
    state = result(job, 60)
    assert time.monotonic() - ended < LEASE_S + 10
    assert "No Ray cluster answers" in state["failure"]["problem"]
    assert soon(lambda: not marked(mark), 10), marked(mark)
