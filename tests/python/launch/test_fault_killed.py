"""Recovery of a job from losing any role before the first step, mid-training and during a checkpoint."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import cluster_task
from support.checkpoints import assert_alike, break_newest_checkpoint, variables
from support.fault_jobs import FaultJob, fault_job
from support.job_fakes import files_with, open_files, row
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.launch.host import network

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

MULTI_WORKER = {"strategy": {"kind": "multi_worker"}}
SERVERS = {"strategy": {"kind": "parameter_server"}}
LAST_STEP = 30
SECRET = "planted-secret-9f2c"


@pytest.fixture(scope="module")
def undisturbed(tensorflow: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Variables after the same steps in one undisturbed process."""
    directory = tmp_path_factory.mktemp("undisturbed")
    answer = cluster_task.train(directory, "custom", {"max_steps": LAST_STEP})
    assert "value" in answer
    return variables(directory / "custom" / "model")


def listening_sockets(net: Path) -> set[str]:
    """Inodes of listening sockets, from a process's /proc/PID/net."""
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in (net / name).read_text(encoding="ascii").splitlines()[1:]
    ]
    return {fields[9] for fields in lines if fields[3] == "0A"}


def check_who_can_reach(job: FaultJob) -> None:
    """Check that the tasks' sockets listen only in their own network, or the user was warned."""
    state = job.state
    pids = [row["pid"] for row in state["tasks"] if row["pid"]]
    opened = [link for pid in pids for link in open_files(pid)]
    own = {link[len("socket:[") : -1] for link in opened if link.startswith("socket:")}
    inside = own & listening_sockets(Path(f"/proc/{pids[0]}/net"))
    outside = own & listening_sockets(Path("/proc/self/net"))
    assert inside
    if network.why_not_private() is None:
        assert state["network"] == "private"
        assert not outside
    else:
        assert state["network"] == "open"
        assert any(note.startswith(network.OPEN_RISK) for note in state["notes"])


STOPS = {
    "before the first step": ("begin", "begin"),
    "in the middle": ("step-14", "step-24"),
    "during a checkpoint": ("save-20", "save-30"),
}


@pytest.mark.promise("Restarts")
@pytest.mark.promise("The same numbers")
@sampled("moment", STOPS, check=["in the middle"])
def test_killed_tasks_restart_and_the_job_ends_with_the_same_weights(
    tensorflow: ModuleType,
    undisturbed: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    monkeypatch.setenv("A_PASSWORD", SECRET)
    stops = [f"chief-0 {place}" for place in STOPS[moment]]
    options = {"max_steps": LAST_STEP, "stops": stops, "config": MULTI_WORKER}
    # With a digest, as in R, a restart uses the processes that are left.
    own = {"evaluator": True, "max_steps": LAST_STEP, "digest": "0" * 64}
    with fault_job(tmp_path, options, **own) as job:
        job.await_stop(0)
        check_who_can_reach(job)
        job.kill("evaluator 0")
        job.kill("worker 0")
        job.go_on(0)
        job.await_stop(1)
        assert job.state["restarts"] == 2
        assert files_with(SECRET, tmp_path) == []
        if moment == "in the middle":
            break_newest_checkpoint(job.model_dir)
        job.kill("chief 0")
        state = job.end()

    check_that_it_was_healed(state)
    if moment == "in the middle":
        # From 14 back to 10, or from 15 if the killed worker had written its part of that step into shared memory; and
        # from 24 back to 10 because checkpoint 20 was broken.
        assert state["steps_lost"] in (4 + 14, 5 + 14)
        assert any("continues from model.ckpt-10" in note for note in state["notes"])
    elif moment == "before the first step":
        assert state["steps_lost"] == 0
    assert files_with(SECRET, tmp_path) == []
    assert_alike(variables(job.model_dir), undisturbed)


def check_that_it_was_healed(state: dict[str, Any]) -> None:
    assert (state["state"], state["global_step"]) == ("done", LAST_STEP), state
    assert (state["restarts"], state["failure"]) == (3, None)
    assert state["evaluations"][-1]["global_step"] == LAST_STEP
    killed = [note.partition(" (pid")[0] for note in state["notes"] if "SIGKILL" in note]
    assert sorted(killed[:2]) == ["evaluator 0", "worker 0"]
    assert killed[2] == "chief 0"


@pytest.mark.full
def test_a_killed_tabular_training_ends_with_the_same_weights(
    tensorflow: ModuleType, tmp_path: Path
) -> None:
    options = {"models": ["tabular"], "verb": "train"}
    answer = cluster_task.train(tmp_path / "alone", "tabular", options)
    assert "value" in answer, answer
    expected = variables(tmp_path / "alone" / "tabular" / "model")
    stops = ["chief-0 save-20", "chief-0 save-30"]
    model_dir = str(tmp_path / "job" / "tabular" / "model")
    options |= {"stops": stops, "config": MULTI_WORKER}
    with fault_job(tmp_path / "job", options, model_dir=model_dir) as job:
        job.await_stop(0)
        job.kill("worker 0")
        job.go_on(0)
        job.await_stop(1)
        job.kill("chief 0")
        state = job.end()
    assert (state["state"], state["restarts"], state["failure"]) == ("done", 2, None), job.logs()
    found = variables(job.model_dir)
    assert found["global_step"] == expected["global_step"] == 40
    assert_alike(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.full
def test_all_tasks_train_the_layers_that_the_chief_chooses(
    tensorflow: ModuleType, tmp_path: Path
) -> None:
    options: dict[str, Any] = cluster_task.TRAININGS["chosen"]
    answer = cluster_task.train(tmp_path / "alone", "chosen", options)
    assert "value" in answer, answer
    expected = answer["value"]["training"]
    second_cycle = f"chief-0 save-{engine.tabular.ends_of_cycles(256)[1]}"
    options = {**options, "stops": [second_cycle], "config": MULTI_WORKER}
    model_dir = str(tmp_path / "job" / "chosen" / "model")
    with fault_job(tmp_path / "job", options, model_dir=model_dir) as job:
        job.await_stop(0)
        job.kill("worker 0")
        job.go_on(0)
        state = job.end()
    assert (state["state"], state["restarts"], state["failure"]) == ("done", 1, None), job.logs()
    assert row(state, "worker 0")["step"] == state["global_step"] == 256
    # Rounding grows with the steps.
    steps, losses = (state["history"]["training"][name][:6] for name in ("step", "loss"))
    assert list(steps) == list(expected["step"][:6])
    np.testing.assert_allclose(losses, expected["loss"][:6], rtol=1e-4)
    assert not [each for each in Path(model_dir).iterdir() if "layers" in each.name]


@pytest.mark.full
def test_a_killed_parameter_server_restarts_alone(tensorflow: ModuleType, tmp_path: Path) -> None:
    stops = [f"chief-0 {place}" for place in ("begin", "step-14", "save-20")]
    options = {"max_steps": LAST_STEP, "stops": stops, "config": SERVERS}
    # With one training task, the steps are reproducible.
    with fault_job(tmp_path, options, workers=1, ps=1) as job:
        for number in range(len(stops)):
            job.await_stop(number)
            chief, port = job.row("chief 0")["pid"], job.row("ps 0")["port"]
            job.kill("ps 0")
            await_restart_of_server(job, number + 1)
            assert (job.row("chief 0")["pid"], job.row("ps 0")["port"]) == (chief, port)
            job.go_on(number)
        state = job.end()
    assert (state["state"], state["restarts"], state["failure"]) == ("done", 3, None), job.logs()
    # From 14 back to 10; nothing was lost before the first step, and everything was saved at 20.
    assert (state["global_step"], state["steps_lost"]) == (LAST_STEP, 4)
    assert all(note.startswith("ps 0 ") for note in state["notes"] if "SIGKILL" in note)
    assert variables(job.model_dir)["global_step"] == LAST_STEP


def test_with_a_parameter_server_only_the_killed_task_restarts(tmp_path: Path) -> None:
    stops = ["chief-0 step-14", "chief-0 save-20"]
    options = {"max_steps": LAST_STEP, "stops": stops, "config": SERVERS}
    # The worker reaches no stops; it must still have work when the chief continues.
    slowly = {"TEST_STEP_S": "0.1"}
    with fault_job(tmp_path, options, ps=1, environment=slowly) as job:
        job.await_stop(0)
        server, worker = job.row("ps 0")["pid"], job.row("worker 0")["pid"]
        job.kill("worker 0")
        job.await_state(lambda state: row(state, "worker 0")["pid"] not in (worker, None))
        job.go_on(0)
        job.await_stop(1)
        job.kill("chief 0")
        job.await_state(lambda state: row(state, "chief 0")["state"] == "training")
        assert job.row("ps 0")["pid"] == server
        state = job.end()
    assert (state["state"], state["restarts"], state["failure"]) == ("done", 2, None), job.logs()
    # The two tasks train asynchronously: each may have started another step when the last is counted.
    assert LAST_STEP <= state["global_step"] <= LAST_STEP + 3


def await_restart_of_server(job: FaultJob, restarts: int) -> None:
    def serves(state: dict[str, Any]) -> bool:
        return state["restarts"] == restarts and row(state, "ps 0")["state"] == "serving"

    job.await_state(serves)
