"""Jobs of a real Slurm with two nodes: what ends them, and that they go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import cluster_task, job_fakes
from support.checkpoints import assert_alike, variables
from support.fault_jobs import TASK as FAULT_TASK
from support.job_fakes import TRAINS, row
from support.remote_hosts import soon
from support.slurm_daemons import GRACE_S, Slurm, has_slurm, real_slurm
from support.slurm_jobs import LEASE_S, is_training, result, state_when, submit

from tfdistribute.errors import ClusterError, ModelDirectoryError
from tfdistribute.launch import job_handle
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster
from tfdistribute.launch.script import launch_script

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.cluster,
    pytest.mark.skipif(not has_slurm(), reason="needs root, slurm-wlm and munge"),
]

# Trains until a signal, then saves; goes on from there when it is started again.
SAVES = (("train", 5), ("save_on_interrupt", 5), ("sleep", 100))
GOES_ON = (("train", 8, 6), ("finish", 8))
LASTS = (("train", 5), ("sleep", 100))
INTERRUPTED: dict[str, Any] = {
    # A checkpoint shortly before the one at the end.
    "chief-0@0": (("checkpoint", 1), *SAVES),
    "worker-0@0": (("child", True), *LASTS),
    "chief-0@1": GOES_ON,
    "worker-0@1": GOES_ON,
}


@pytest.fixture(scope="module")
def running_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with real_slurm(tmp_path_factory.mktemp("slurm")) as slurm:
        yield slurm


@pytest.fixture
def slurm(running_slurm: Slurm) -> Iterator[Slurm]:
    yield running_slurm
    running_slurm.end_jobs()


def assert_nothing_is_left(job: dict[str, Any]) -> None:
    name = Path(job["directory"]).name.encode()
    assert soon(lambda: not _processes_that_name(name), LEASE_S + 5), _processes_that_name(name)


def _processes_that_name(name: bytes) -> list[str]:
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if name in (path / "environ").read_bytes() or name in (path / "cmdline").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [line for line in found if line and "pytest" not in line]


def assert_went_on(state: dict[str, Any]) -> None:
    assert state["state"] == "done", json.dumps(state, indent=1)
    assert state["global_step"] == 8
    assert state["steps_lost"] == 0
    assert state["history"]["training"]["step"] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_job_survives_the_session_that_submitted_it(tmp_path: Path, slurm: Slurm):
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]; from pathlib import Path; from support.slurm_jobs import submit; "
        "submit(Path(sys.argv[1]), {'chief': (('train', 3), ('sleep', 2), ('finish', 3))})"
    )
    paths = [path for path in sys.path if path.endswith("python")]
    paths += [str(Path(__file__).parents[2]), str(Path(__file__).parents[4] / "inst" / "python")]
    subprocess.run([sys.executable, "-c", code, str(tmp_path), *paths], check=True, timeout=60)
    job = job_handle.find_job(str(tmp_path / "model"))
    assert job is not None
    assert (Path(job["directory"]).stat().st_mode & 0o777) == 0o700
    with pytest.raises(ModelDirectoryError, match=rf"Job {job['key']} of Slurm"):
        submit(tmp_path, {})
    state = result(job)
    assert state["state"] == "done", state
    assert {each["host"] for each in state["tasks"]} == {"n1", "n2"}
    assert job_handle.find_job(str(tmp_path / "model")) is None
    ended = job_handle.last_job(str(tmp_path / "model"))
    assert ended is not None
    assert job_handle.job_state(ended) == state
    assert_nothing_is_left(job)


@pytest.mark.full
def test_when_the_time_is_up_the_chief_saves_and_the_job_goes_on_by_itself(
    tmp_path: Path, slurm: Slurm
):
    job = submit(tmp_path, INTERRUPTED)
    state_when(job, is_training)
    # What Slurm sends `stop_signal_s` before the time limit.
    slurm.run("scancel", "--batch", "--signal=USR1", job["key"])
    state = state_when(job, lambda state: state["state"] == "queued")
    assert soon(lambda: not _processes_that_name(Path(job["directory"]).name.encode()), 15)
    state = result(job)
    assert_went_on(state)
    assert any("The time limit is near" in note and "step 5" in note for note in state["notes"])
    assert slurm.field(job["key"], "Restarts") == "1"
    assert_nothing_is_left(job)


def test_the_tasks_of_a_users_own_srun_read_one_cluster(slurm: Slurm):
    code = (
        "import json, os, sys; sys.path.insert(0, sys.argv[1]); "
        "from tfdistribute.cluster.slurm_environment import read_slurm; "
        "found = read_slurm(os.environ); print(json.dumps([found.task, found.cluster]))"
    )
    root = str(Path(__file__).parents[4] / "inst" / "python")
    said = slurm.run("srun", "--nodes=2", "--ntasks=3", sys.executable, "-c", code, root)
    found = dict(json.loads(line) for line in said.splitlines())
    assert sorted(found) == ["chief 0", "worker 0", "worker 1"]
    clusters = list(found.values())
    assert clusters[0] == clusters[1] == clusters[2]
    addresses = [*clusters[0]["chief"], *clusters[0]["worker"]]
    assert sorted({address.split(":")[0] for address in addresses}) == ["n1", "n2"]


@pytest.mark.full
def test_slurm_itself_signals_a_job_before_its_time_limit(tmp_path: Path, slurm: Slurm):
    # Up to a minute early.
    limit = {"time_limit": "00:02:00", "stop_signal_s": 10}
    long = (("train", 5), ("save_on_interrupt", 5), ("sleep", 200))
    acts = {**INTERRUPTED, "chief-0@0": long, "worker-0@0": (("train", 5), ("sleep", 200))}
    job = submit(tmp_path, acts, cluster=limit)

    state_when(job, is_training)
    state_when(job, lambda state: state["state"] == "queued", 150)
    assert_went_on(result(job))


def test_a_training_that_slurm_interrupts_ends_with_the_weights_of_an_undisturbed_one(
    tensorflow: ModuleType, tmp_path: Path, slurm: Slurm
):
    cluster_task.train(tmp_path / "undisturbed", "custom", {"max_steps": 30})
    config = {"strategy": {"kind": "multi_worker"}}
    options = {"max_steps": 30, "stops": ["chief-0 step-14"], "config": config}
    job = submit(
        tmp_path,
        {},
        command=[sys.executable, str(FAULT_TASK), str(tmp_path), json.dumps(options)],
        environment={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "TF_CPP_MIN_LOG_LEVEL": "2"},
        model_dir=str(tmp_path / "custom" / "model"),
        verb="train",
        max_steps=30,
        cluster={"start_timeout_s": 200},
    )
    state_when(job, lambda _: (tmp_path / "arrived-0").exists(), 200)
    slurm.run("scancel", "--batch", "--signal=USR1", job["key"])
    state_when(job, lambda state: state["state"] == "stopping")
    (tmp_path / "go-0").touch()
    state = result(job, 200)
    assert (state["state"], state["global_step"], state["steps_lost"]) == ("done", 30, 0), state
    assert any("Its last checkpoint is of step 1" in note for note in state["notes"])
    trained = variables(tmp_path / "custom" / "model")
    assert_alike(trained, variables(tmp_path / "undisturbed" / "custom" / "model"))


@pytest.mark.full
def test_a_job_whose_nodes_slurm_takes_back_goes_on_by_itself(tmp_path: Path, slurm: Slurm):
    job = submit(tmp_path, INTERRUPTED)
    state_when(job, is_training)
    # What a preemption does.
    slurm.run("scontrol", "requeue", job["key"])
    state_when(job, lambda state: state["state"] == "queued")
    state = result(job)
    assert_went_on(state)
    assert any("Slurm took back the nodes" in note for note in state["notes"])


@pytest.mark.full
def test_a_job_that_makes_room_for_an_urgent_one_saves_and_goes_on_afterwards(
    tmp_path: Path, slurm: Slurm
):
    job = submit(tmp_path, INTERRUPTED)
    state_when(job, is_training)
    began = time.monotonic()
    options = ("--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null")
    urgent = slurm.run("sbatch", "--parsable", *options, "--wrap=sleep 1")
    state_when(job, lambda state: state["state"] == "queued")
    assert soon(lambda: slurm.field(urgent, "JobState") != "PENDING", 40)
    state = result(job, 90)
    assert_went_on(state)
    assert any("Slurm took back the nodes" in each for each in state["notes"]), state["notes"]
    # The nodes are free when the checkpoint is written, and not at the end of the grace time.
    assert time.monotonic() - began < GRACE_S
    assert_nothing_is_left(job)


@pytest.mark.parametrize("how", ["stop_job", "scancel"])
def test_a_job_that_is_stopped_saves_and_leaves_nothing(tmp_path: Path, slurm: Slurm, how: str):
    job = submit(tmp_path, INTERRUPTED)
    state_when(job, is_training)
    if how == "stop_job":
        job_handle.stop_job(job)
    else:
        slurm.run("scancel", job["key"])
    state = result(job)
    assert state["state"] == "stopped", state
    assert state["message"] == "The job was stopped. Its last checkpoint is of step 5."
    assert_nothing_is_left(job)


def test_a_waiting_job_is_found_and_stopped(tmp_path: Path, slurm: Slurm):
    job = submit(tmp_path, {}, cluster={"options": ["--hold"]})
    state = job_handle.job_state(job)
    assert state["state"] == "queued"
    assert state["message"].startswith(f"Job {job['key']} of Slurm waits (")
    # From any working directory.
    assert job_handle.find_job(job["key"]) == job
    assert job_handle.find_job(job["logs"]) == job
    state = job_handle.stop_job(job)
    assert state["state"] == "stopped", state
    assert state["message"] == f"Job {job['key']} of Slurm was cancelled."
    assert not Path(job["directory"]).exists()


@pytest.mark.full
def test_a_killed_task_is_started_again(tmp_path: Path, slurm: Slurm):
    acts = {"worker-0@0": (("train", 2), ("die",)), "chief-0@0": LASTS, "chief": GOES_ON}
    state = result(submit(tmp_path, acts))
    assert state["state"] == "done", state
    assert any("worker 0 (pid" in note and "SIGKILL" in note for note in state["notes"])


@pytest.mark.full
def test_a_job_whose_node_is_lost_goes_on_when_slurm_has_nodes_again(tmp_path: Path):
    acts = {
        "chief-0@0": (("train", 5), ("checkpoint", 5), ("sleep", 100)),
        "worker-0@0": (("child", True), *LASTS),
        "chief-0@1": GOES_ON,
        "worker-0@1": GOES_ON,
    }
    (tmp_path / "slurm").mkdir()
    with real_slurm(tmp_path / "slurm", node_timeout_s=20) as slurm:
        job = submit(tmp_path, acts, cluster={"restarts": 0})
        state_when(job, lambda state: is_training(state) and state["checkpoint"] == 5)
        slurm.freeze_node("n2")
        frozen = time.monotonic()
        state_when(job, lambda state: any("n2 was lost" in note for note in state["notes"]))
        assert time.monotonic() - frozen < LEASE_S + 5
        slurm.kill_node("n2")
        slurm.start_node("n2")
        assert_went_on(result(job, 100))
        assert_nothing_is_left(job)


def test_what_slurm_refuses_is_told_and_leaves_nothing(tmp_path: Path, slurm: Slurm):
    with pytest.raises(ClusterError, match=r"invalid partition specified: gpu") as caught:
        submit(tmp_path, {}, cluster={"partition": "gpu"})
    assert caught.value.problem.startswith("Slurm does not accept this job:")
    assert not (tmp_path / "model" / ".jobs").exists()


def test_a_job_that_is_larger_than_its_partition_is_refused(tmp_path: Path, slurm: Slurm):
    with pytest.raises(ClusterError, match=r"Slurm does not accept this job: "):
        submit(tmp_path, {}, cluster={"nodes": 3, "workers": 3})
    assert not (tmp_path / "model" / ".jobs").exists()


def test_a_job_that_slurm_has_ended_is_a_failure_with_its_output(tmp_path: Path, slurm: Slurm):
    job = submit(tmp_path, {}, cluster={"setup": ["echo No module R; exit 3"]})
    state = result(job)
    assert state["state"] == "failed"
    assert state["failure"]["problem"] == (
        f"Job {job['key']} of Slurm ended (FAILED) before its supervisor could write a result."
    )
    assert state["failure"]["log_tail"].endswith("No module R")


def test_nothing_of_the_session_is_in_the_script_or_the_tasks_of_a_folder_with_spaces(
    tmp_path: Path, slurm: Slurm, monkeypatch: pytest.MonkeyPatch
):
    directory = tmp_path / "my models 100%"
    directory.mkdir()
    monkeypatch.setenv("SECRET_OF_SESSION", "secret")
    acts = {"chief": (("print_files",), *TRAINS)}
    cluster = {"environment": {"NAMED": "also secret"}}
    job = submit(directory, acts, cluster=cluster, environment={"NAMED": "also secret"})
    script = slurm.run("scontrol", "write", "batch_script", job["key"], "-")
    assert "secret" not in script
    state = result(job)
    log = Path(row(state, "chief 0")["log"]).read_text()
    assert "SECRET_OF_SESSION" not in log
    assert "NAMED=also secret" in log
    assert list((directory / "model" / "logs").glob("slurm-*.out"))


def test_a_script_is_launched_found_and_stopped(
    tmp_path: Path, slurm: Slurm, monkeypatch: pytest.MonkeyPatch
):
    long = (("save_on_interrupt", 3), ("train", 3), ("sleep", 100))
    code = job_fakes.command({"chief": long, "worker": (("child", True), *long[1:])})
    monkeypatch.chdir(tmp_path)
    Path("train it.py").write_text(
        "import os, sys, tfdistribute\nprint('INFO:', sys.argv[1:], os.environ['NAMED'], flush=True)\n"
        f"sys.argv = ['task', {code[5]!r}]\nexec({code[4]!r})\n",
        encoding="utf-8",
    )
    cluster = SlurmCluster(
        nodes=2, workers=2, evaluator=False, lease_s=LEASE_S, environment={"NAMED": "here"}
    )
    job = launch_script("train it.py", cluster, ["--rate", "1"], model_dir="m")
    state_when(job, lambda state: is_training(state) and state["global_step"] == 3)
    monkeypatch.chdir("/")
    assert job_handle.find_job(job["key"]) == job
    state = job_handle.stop_job(job)
    assert state["message"] == "The job was stopped. Its last checkpoint is of step 3."
    for task in ("chief 0", "worker 0"):
        assert "INFO: ['--rate', '1'] here" in job_handle.job_logs(job, task)
    result(job)
    assert_nothing_is_left(job)
