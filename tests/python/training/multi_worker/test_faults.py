"""Cluster tasks with a lost peer or uneven data: the error names the peer, and a restart recovers."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from support import cluster_task
from support.checkpoints import assert_alike, break_newest_checkpoint, variables
from support.cluster_job import Job, job, with_deadlines
from support.sampling import sampled

from tfdistribute.checkpoints.newest import newest_step

MULTI_WORKER = {"strategy": {"kind": "multi_worker"}}
SERVERS = {"strategy": {"kind": "parameter_server"}}

pytestmark = pytest.mark.jobs


def assert_that_the_chief_names_a_killed_worker(running: Job) -> None:
    running.start_all(TEST_STEP_S="0.1")
    running.await_rows("chief-0", 24 * cluster_task.BATCH // 2)
    running.kill("worker-0")
    killed = time.monotonic()
    assert running.wait("chief-0", timeout_s=30) == {"chief-0": 1}
    assert time.monotonic() - killed < 20
    error = running.error("chief-0", "custom")
    assert error["kinds"] == ["lost_peer", "training", "error"]
    assert f"chief 0 lost worker 0 ({running.cluster['worker'][0]}) after step" in error["problem"]
    (failed,) = running.events("chief-0", "failed")
    assert failed["transient"]


@pytest.mark.full
def test_a_lost_worker_is_named_and_a_restart_gives_the_same_weights(
    tensorflow: ModuleType, tmp_path: Path
) -> None:
    # TensorFlow's train() does not support clusters; ours counts steps from the start of the job.
    options = {"models": ["custom"], "verb": "train", "steps": 40}
    undisturbed = cluster_task.train(tmp_path / "alone", "custom", options)
    assert "value" in undisturbed
    expected = variables(tmp_path / "alone" / "custom" / "model")

    config = {**MULTI_WORKER, "steps_per_run": 100}
    with job(tmp_path / "job", {**options, "config": config, "many_steps": True}) as running:
        assert_that_the_chief_names_a_killed_worker(running)
        # Runs end before each checkpoint; the last is aborted.
        assert running.runs("chief-0") == running.runs("worker-0") == [8, 9, 9]
        model_dir = running.model_dir("custom")
        break_newest_checkpoint(model_dir)
        running.start_all(TFDISTRIBUTE_ATTEMPT="1")
        assert running.wait("chief-0", "worker-0") == {"chief-0": 0, "worker-0": 0}, running.logs()

    notes = [each["text"] for each in running.events("chief-0", "note")]
    assert any("is broken" in text and "continues from model.ckpt-" in text for text in notes)
    found = variables(model_dir)
    assert found["global_step"] == 40
    assert_alike(found, expected)


@pytest.mark.promise("No endless wait")
def test_a_frozen_worker_is_named_by_one_that_waits_in_shared_memory(tmp_path: Path) -> None:
    strategy = {"strategy": {"kind": "multi_worker", "communication": "shared_memory"}}
    options = {"models": ["custom"], "max_steps": 2000, "config": strategy}
    with job(tmp_path, options) as running:
        running.start_all(TEST_STEP_S="0.05", **with_deadlines(running, stall_timeout_s=5))
        running.await_event("worker-0", "step", step=2)
        running.freeze("worker-0")
        frozen = time.monotonic()
        assert running.wait("chief-0", timeout_s=60) == {"chief-0": 1}
        assert time.monotonic() - frozen < 40
        error = running.error("chief-0", "custom")
        assert error["kind"] == "lost_peer"
        assert f"chief 0 lost worker 0 ({running.cluster['worker'][0]})" in error["problem"]
        assert "no sign of life" in error["problem"]


@pytest.mark.versions
def test_every_task_reports_a_loss_that_becomes_nan_during_a_run(tmp_path: Path) -> None:
    config = {**MULTI_WORKER, "steps_per_run": 100}
    options = {"models": ["custom"], "epochs": 1, "config": config, "nan_row": 40}
    with job(tmp_path, {**options, "many_steps": True}) as running:
        running.start_all()
        running.wait("chief-0", "worker-0")
    for name in ("chief-0", "worker-0"):
        # The run starts after the first of eight steps.
        assert running.runs(name) == [6]
        error = running.error(name, "custom")
        assert error["kinds"] == ["training", "error"]
        assert error["problem"].startswith("The loss became NaN.")


@contextlib.contextmanager
def listening(address: str) -> Iterator[None]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(address.rpartition(":")[2])))
        taken.listen()
        yield


def test_a_missing_task_and_a_taken_port_are_named(tmp_path: Path) -> None:
    strategy = {"strategy": {"kind": "multi_worker", "timeout_s": 3}}
    with job(tmp_path, {"models": ["linear"], "max_steps": 5, "config": strategy}) as running:
        chief, worker = running.cluster["chief"][0], running.cluster["worker"][0]
        with listening(chief):
            running.start("chief")
            running.wait("chief-0", timeout_s=60)
        error = running.error("chief-0", "linear")
        assert error["kinds"] == ["port", "cluster", "error"]
        assert f"chief 0 cannot listen at {chief}: the port is taken by" in error["problem"]
        assert f"(pid {os.getpid()})" in error["problem"]

        running.start("chief")
        running.wait("chief-0", timeout_s=60)
        error = running.error("chief-0", "linear")
        assert error["kind"] == "lost_peer"
        assert f"waited 3 seconds, and nothing answers at worker 0 ({worker})" in error["problem"]
        assert running.events("chief-0", "waiting")[-1]["for"] == "worker 0"


# The task's data ends after five steps: between two steps, or in the middle of a run.
UNEVEN = [("chief-0", 1), ("chief-0", 8), ("worker-0", 8)]


@sampled(("short", "steps_per_run"), UNEVEN, check=[("chief-0", 8)])
def test_the_task_that_runs_out_of_data_first_is_named(
    tmp_path: Path, short: str, steps_per_run: int
) -> None:
    with job_of_uneven_data(tmp_path, steps_per_run) as running:
        # The short task's process stays alive, and so do its connections.
        running.start_all(TEST_SHORT=short, TEST_STAY_S="200")
        running.await_event("worker-0", "failed", timeout_s=100)
        assert running.runs("worker-0") == ([] if steps_per_run == 1 else [7])
        (failed,) = running.events("worker-0", "failed")
    assert (failed["kind"], failed["transient"]) == ("input", False), running.logs()
    task = short.replace("-", " ")
    assert failed["problem"].startswith(f"{task} ran out of data after step 5,")


@pytest.mark.full
def test_a_task_that_was_asked_to_stop_is_named(tmp_path: Path) -> None:
    with job_of_uneven_data(tmp_path, steps_per_run=1) as running:
        running.start_all(TEST_SHORT="nobody", TEST_STAY_S="200")
        running.await_event("chief-0", "step", step=1)
        running.processes["chief-0"].send_signal(signal.SIGINT)
        running.await_event("worker-0", "failed", timeout_s=60)
        (failed,) = running.events("worker-0", "failed")
        step = running.events("chief-0", "checkpoint")[-1]["step"]
    # The worker reads the chief's last step, or is told by the chief.
    assert re.search(r"chief 0 .*was asked to stop\.$", failed["problem"])
    assert f"after step {step}" in failed["problem"]


@pytest.mark.full
def test_a_worker_that_must_end_lets_the_chief_save_a_checkpoint(tmp_path: Path) -> None:
    config = {**MULTI_WORKER, "save_checkpoints_steps": 100_000}
    options = {"models": ["custom"], "max_steps": 5000, "config": config}
    with job(tmp_path, options) as running:
        # As in containers, nobody supervises the tasks.
        running.start_all(TEST_STEP_S="0.05", TFDISTRIBUTE_EVENTS="")
        running.await_rows("worker-0", 100)
        running.processes["worker-0"].send_signal(signal.SIGINT)
        asked = time.monotonic()
        running.wait("chief-0", "worker-0", timeout_s=60)
        assert time.monotonic() - asked < 30
        steps = newest_step(str(running.model_dir("custom")))
        assert steps > 1, running.logs()
        # All steps were saved.
        assert len(running.rows("chief-0")) % steps == 0, running.logs()


def job_of_uneven_data(
    directory: Path, steps_per_run: int
) -> contextlib.AbstractContextManager[Job]:
    config = {**MULTI_WORKER, "steps_per_run": steps_per_run}
    options = {"models": ["custom"], "config": config, "uneven": True, "many_steps": True}
    return job(directory, options)


@pytest.mark.full
def test_tasks_outlive_a_killed_worker_but_not_a_killed_parameter_server(
    tmp_path: Path,
) -> None:
    options = {
        "models": ["custom"],
        "max_steps": 4000,
        "config": {
            **SERVERS,
            "cluster": {"kind": "local", "workers": 2, "ps": 1, "start_timeout_s": 4},
        },
    }
    with job(tmp_path, options, workers=2, ps=1) as running:
        running.start_all(TEST_STEP_S="0.02")
        running.await_event("worker-0", "step", step=1)
        running.await_event("chief-0", "step", step=1)
        running.kill("worker-0")
        step = running.events("chief-0", "step")[-1]["step"]
        running.await_event("chief-0", "step", step=step + 20)
        running.start("worker", TEST_STEP_S="0.02", TFDISTRIBUTE_ATTEMPT="1")
        running.await_event("worker-0", "step", step=step + 20)
        running.kill("ps-0")
        assert running.wait("chief-0", "worker-0", timeout_s=40) == {"chief-0": 1, "worker-0": 1}
        for name in ("chief-0", "worker-0"):
            error = running.error(name, "custom")
            assert error["kind"] == "lost_peer"
            assert "lost ps 0" in error["problem"]
