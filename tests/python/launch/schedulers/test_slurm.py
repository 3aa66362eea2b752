"""Jobs in Slurm's queue from outside, with programs that answer as Slurm's do."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from support.fake_slurm import FakeSlurm
from support.slurm_jobs import submit

from tfdistribute.errors import ArgumentError, BackendError, ClusterError, ModelDirectoryError
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job_files import STATE_FILE
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.schedulers.slurm import srun
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster
from tfdistribute.launch.schedulers.slurm.scheduler import SlurmScheduler, job_script

CLUSTER = SlurmCluster(nodes=1, workers=1)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    return FakeSlurm.on_path(tmp_path, monkeypatch, _VISIBLE_S=0.5, _FRESH_S=0.2)


def write_state(job: dict[str, Any], **fields: Any) -> Path:
    rows = [
        {"task": "chief 0", "state": "running", "activity": "training", "pid": 5, "log": "a.log"}
    ]
    values = {"state": "training", "notes": [], "tasks": rows, "ended": None, "global_step": 3}
    path = Path(job["directory"], STATE_FILE)
    path.write_text(json.dumps({**job, **values, **fields}))
    return path


def test_a_waiting_job_says_why_it_waits(tmp_path: Path, slurm: FakeSlurm):
    job = submit(tmp_path, {})
    assert job["key"] == "7"
    state = job_handle.job_state(job)
    assert (state["state"], state["message"]) == ("queued", "Job 7 of Slurm waits (Resources).")
    assert job_handle.is_running(job)


def test_slurm_is_not_asked_while_the_supervisor_writes_its_state(
    tmp_path: Path, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "_FRESH_S", 5.0)
    job = submit(tmp_path, {})
    write_state(job)
    for _ in range(20):
        assert job_handle.job_state(job)["state"] == "training"
    assert slurm.asked("squeue") == []


def test_slurm_is_asked_once_in_a_while(
    tmp_path: Path, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "_FRESH_S", 5.0)
    job = submit(tmp_path, {})
    for _ in range(20):
        job_handle.job_state(job)
    assert len(slurm.asked("squeue")) == 1


def test_a_job_that_cannot_be_asked_about_is_not_over(tmp_path: Path, slurm: FakeSlurm):
    job = submit(tmp_path, {})
    slurm.says("squeue", error="Unable to contact slurm controller", code=1)
    state = job_handle.job_state(job)
    assert state["ended"] is None
    assert state["notes"] == ["Slurm does not answer."]


@pytest.mark.parametrize(
    ("entry", "end"),
    [("CANCELLED|None|n1", "stopped"), ("TIMEOUT|TimeLimit|n1", "failed"), ("", "failed")],
)
def test_a_job_that_is_gone_has_ended_with_what_it_last_told(
    tmp_path: Path, slurm: FakeSlurm, entry: str, end: str
):
    job = submit(tmp_path, {})
    os.utime(write_state(job), (1, 1))
    slurm.says("squeue", entry)
    state = job_handle.job_state(job)
    assert (state["state"], state["global_step"]) == (end, 3)
    assert [(row["task"], row["pid"], row["log"]) for row in state["tasks"]] == [
        ("chief 0", None, "a.log")
    ]
    # The data of the job is gone with it, and its end stays known.
    assert not Path(job["model_dir"], client.JOBS).exists()
    assert job_handle.job_state(job) == state
    found = job_handle.last_job(job["model_dir"])
    assert found is not None
    assert found["id"] == job["id"]


def test_a_job_of_which_slurm_knows_nothing_is_gone(tmp_path: Path, slurm: FakeSlurm):
    job = submit(tmp_path, {})
    slurm.says("squeue", error="slurm_load_jobs error: Invalid job id specified", code=1)
    state = job_handle.job_state(job)
    assert state["failure"]["problem"].startswith("Job 7 of Slurm ended (forgotten) before")


def test_two_jobs_do_not_wait_for_one_model_dir(tmp_path: Path, slurm: FakeSlurm):
    submit(tmp_path, {})
    with pytest.raises(ModelDirectoryError, match=r"in use: Job 7 of Slurm"):
        submit(tmp_path, {})
    slurm.says("squeue")
    time.sleep(0.3)
    assert submit(tmp_path, {})["key"] == "7"


def test_what_a_killed_supervisor_has_left_is_removed_by_the_next_job(
    tmp_path: Path, slurm: FakeSlurm
):
    first = submit(tmp_path, {})
    Path(first["logs"], "result.json").write_text(
        json.dumps({**first, "state": "done", "ended": 1.0})
    )
    second = submit(tmp_path, {})
    assert not Path(first["directory"]).exists()
    assert Path(second["directory"]).exists()


def test_a_job_is_found_by_its_model_dir_its_logs_and_its_id(tmp_path: Path, slurm: FakeSlurm):
    job = submit(tmp_path, {})
    model_dir = job["model_dir"]
    assert job_handle.find_job(model_dir) == job_handle.find_job(job["logs"]) == job
    assert job_handle.find_job(str(tmp_path)) is None


def test_stopping_a_waiting_job_cancels_it(tmp_path: Path, slurm: FakeSlurm):
    job = submit(tmp_path, {})
    job_handle.stop_job(job, 0)
    assert slurm.asked("scancel") == ["7"]


def test_stopping_a_running_job_signals_its_supervisor_alone(tmp_path: Path, slurm: FakeSlurm):
    job = submit(tmp_path, {})
    slurm.says("squeue", "RUNNING|None|n1")
    job_handle.stop_job(job, 0)
    assert slurm.asked("scancel") == ["--batch --signal=TERM 7"]


def test_what_sbatch_says_is_the_error_and_nothing_is_left(tmp_path: Path, slurm: FakeSlurm):
    said = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination"
    slurm.says("sbatch", error=said, code=1)
    with pytest.raises(ClusterError) as caught:
        submit(tmp_path, {})
    assert caught.value.problem == (
        "Slurm does not accept this job: Batch job submission failed: Invalid account or account/partition "
        "combination"
    )
    assert not (tmp_path / "model" / client.JOBS).exists()


@pytest.mark.parametrize(
    ("said", "is_refused"),
    [
        ("allocation failure: Node count specification invalid", True),
        ("allocation failure: Required node not available (down, drained or reserved)", False),
    ],
)
def test_a_job_that_can_never_start_is_refused_at_once(
    tmp_path: Path, slurm: FakeSlurm, said: str, is_refused: bool
):
    slurm.says("sbatch", "7;cluster", refuses_test=said)
    if not is_refused:
        assert submit(tmp_path, {})["key"] == "7"
        return
    with pytest.raises(ClusterError, match=f"Slurm does not accept this job: {said}"):
        submit(tmp_path, {})
    assert len(slurm.asked("sbatch")) == 1
    assert not (tmp_path / "model" / client.JOBS).exists()


def test_a_machine_without_slurm_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BackendError, match=r'"sbatch" cannot be run on this machine'):
        submit(tmp_path, {})
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("shown", "is_again", "will_be"),
    [
        ("Requeue=1 Restarts=0 PreemptTime=None", False, False),
        ("Requeue=1 Restarts=1 PreemptTime=None", True, True),
        ("Requeue=1 Restarts=0 PreemptTime=2026-01-01T00:00:00", False, True),
        ("", True, True),
    ],
)
def test_a_job_that_slurm_ends_is_known_to_be_queued_again(
    slurm: FakeSlurm, shown: str, is_again: bool, will_be: bool
):
    slurm.says("scontrol", shown)
    assert SlurmScheduler().is_restarted("7", starts_before=0) is will_be
    assert SlurmScheduler().is_restarted("7", starts_before=0, or_will_be=False) is is_again


def test_the_script_quotes_what_sbatch_would_split():
    script = job_script(
        SlurmCluster(nodes=1, workers=1, setup=("module load R",)),
        "/a b/.jobs/x",
        '/a b/100%/"logs"',
        "/a b",
        "a b",
    ).splitlines()
    assert '#SBATCH --output="/a b/100%%/\\"logs\\"/slurm-%j.out"' in script
    assert '#SBATCH --chdir="/a b"' in script
    assert "#SBATCH --job-name=tfdistribute-a-b" in script
    assert script[-2] == "module load R"
    assert script[-1].endswith("'/a b/.jobs/x' '' slurm")


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028"])
def test_no_path_begins_a_line_of_the_script(place: int, end: str):
    paths = ["/jobs/x", "/model/logs", "/home"]
    paths[place] += f"{end}touch PWNED{end}#"
    with pytest.raises(ArgumentError, match="line breaks") as caught:
        job_script(SlurmCluster(nodes=1, workers=1), *paths, "name")
    assert caught.value.argument == ("model_dir", "model_dir", "working_directory")[place]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("slurmstepd: error: execve(): python9: No such file or directory", "it has no python9"),
        (
            "srun: error: Unable to create step for job 1: Required node not available",
            "Slurm cannot reach it",
        ),
        (
            "srun: error: Unable to create step for job 1: Job/step already completing",
            "Slurm starts nothing there",
        ),
    ],
)
def test_what_srun_says_is_explained(said: str, problem: str):
    transport = dataclasses.replace(srun.transports()("n1"), python="python9")
    explained = transport.explain("n1", said)
    assert explained is not None
    assert explained[0] == problem
    assert transport.explain("n1", "something else") is None


def test_a_job_that_could_not_be_prepared_leaves_no_folder(tmp_path: Path, slurm: FakeSlurm):
    # As R does after an error while it writes the data of a job.
    first, second = (client.new_directory(CLUSTER, str(tmp_path / "model"), "/") for _ in range(2))
    private_directory.remove(first)
    assert Path(second).exists()
    private_directory.remove(second)
    assert not (tmp_path / "model" / client.JOBS).exists()
