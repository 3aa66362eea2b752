"""Jobs of scripts: on this machine, on hosts, in Slurm's queue and on Kubernetes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import job_fakes
from support.fake_slurm import FakeSlurm
from support.kubernetes_server import kubernetes_server
from support.sshd import has_sshd, ssh_hosts

from tfdistribute.cluster.frameworks.spark import SparkCluster
from tfdistribute.cluster.managed import KubernetesCluster
from tfdistribute.cluster.spec import Cluster, LocalCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.launch import job_handle
from tfdistribute.launch.job import FILE, read_job
from tfdistribute.launch.platforms import managed_job
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster
from tfdistribute.launch.script import launch_script

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

PYTHON = Path(__file__).parents[1]

SCRIPT = """
import os, sys
code, acts = {code!r}, {acts!r}
print("INFO: given", sys.argv[1:], os.path.basename(__file__), os.environ.get("NAMED"), flush=True)
sys.argv = ["task", acts]
exec(code)
"""
RATE = ["--rate", "a; b"]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs are written beside a script that has no model_dir."""
    monkeypatch.chdir(tmp_path)


def script(directory: Path, acts: Mapping[str, Any] | None = None) -> str:
    path = directory / "train; it.py"
    every = {"chief": job_fakes.TRAINS, "worker": job_fakes.TRAINS, "evaluator": [("finish", 3)]}
    code = job_fakes.command({**every, **(acts or {})})
    path.write_text(SCRIPT.format(code=code[4], acts=code[5]), encoding="utf-8")
    return str(path)


def test_every_task_runs_the_script_with_its_arguments(tmp_path: Path):
    job = launch_script(script(tmp_path), LocalCluster(2), RATE, model_dir="m")
    state = job_handle.wait_for_job(job)
    assert (state["state"], state["global_step"], state["verb"]) == ("done", 3, "script")
    assert state["logs"] == str(tmp_path / "m" / "logs")
    for task in ("chief 0", "worker 0", "evaluator 0"):
        lines = job_handle.job_logs(job, task, "info")
        assert lines[1:] == ["INFO: given ['--rate', 'a; b'] train; it.py None"]
    with pytest.raises(ArgumentError, match="Use one of chief 0, worker 0, evaluator 0."):
        job_handle.job_logs(job, "ps 0")
    job_fakes.result(job)


def test_a_failure_names_the_task_and_its_cause(tmp_path: Path):
    fails = [("train", 1), ("fail", "No column x.", False, "input")]
    path = script(tmp_path, {"worker": fails, "chief": [("train", 1), ("sleep", 60)]})
    job = launch_script(path, LocalCluster(2, evaluator=False, restarts=0))
    failure = job_handle.wait_for_job(job)["failure"]
    assert (failure["task"], failure["problem"]) == ("worker 0", "No column x.")
    assert "Traceback of worker-0" in failure["traceback"]
    job_fakes.result(job)


SESSION = """
import sys
from tfdistribute.cluster.spec import LocalCluster
from tfdistribute.launch.job_handle import wait_for_job
from tfdistribute.launch.script import launch_script

job = launch_script(sys.argv[1], LocalCluster(2, evaluator=False), model_dir="m")
print("launched", flush=True)
print(wait_for_job(job)["message"])
"""


def test_ctrl_c_stops_a_job_and_nothing_of_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    saves = [("save_on_interrupt", 3), ("child", True), ("train", 3), ("sleep", 60)]
    path = script(tmp_path, {"chief": saves, "worker": [("train", 3), ("stubborn",)]})
    environment = {**os.environ, "PYTHONPATH": str(PYTHON.parents[1] / "inst" / "python")}
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, path],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == "launched\n"
        # Another process finds it.
        job = job_handle.find_job(str(tmp_path / "m"))
        assert job is not None
        job_fakes.state_when(job, lambda state: state["global_step"] == 3)
        session.send_signal(signal.SIGINT)
        output, _ = session.communicate(timeout=30)
    assert output == "The job was stopped. Its last checkpoint is of step 3.\n"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_r_script_is_run_by_rscript(tmp_path: Path):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not there")
    path = tmp_path / "train.R"
    path.write_text(
        'cat("INFO: task", Sys.getenv("TF_CONFIG"), commandArgs(TRUE), "\\n")\n'
        'if (grepl("worker", sub(".*task", "", Sys.getenv("TF_CONFIG")))) stop("no data")\n'
        "Sys.sleep(60)\n",
        encoding="utf-8",
    )
    job = launch_script(str(path), LocalCluster(2, evaluator=False))
    state = job_handle.wait_for_job(job)
    assert state["failure"]["task"] == "worker 0"
    assert "Error: no data" in state["failure"]["log_tail"]
    assert job_handle.job_logs(job, "worker 0", "info")[1].startswith(
        'INFO: task {"cluster": {"chief": ["127.0.0.1:2222"]'
    )
    job_fakes.result(job)


@pytest.mark.parametrize(
    ("name", "cluster", "error"),
    [
        ("none.R", LocalCluster(2), ArgumentError),
        ("a.sh", LocalCluster(2), ArgumentError),
        ("a.py", SparkCluster(sc="sc://a:15002", workers=2), ClusterError),
        ("a.R", LocalCluster(2), ArgumentError),  # There is no Rscript.
        ("a.py", KubernetesCluster(image="a/b:1", workers=2), ClusterError),
    ],
)
def test_a_script_that_cannot_be_started_is_an_error_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    cluster: Cluster,
    error: type[Exception],
):
    for each in ("a.sh", "a.py", "a.R"):
        (tmp_path / each).touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(error):
        launch_script(str(tmp_path / name), cluster, model_dir="/tmp/model")
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.skipif(not has_sshd(), reason="needs ssh and sshd")
def test_a_script_is_sent_to_hosts_and_runs_there(tmp_path: Path):
    with ssh_hosts(tmp_path) as hosts:
        cluster = SshCluster(
            workers=2,
            hosts=tuple(hosts.names),
            ssh=(hosts.ssh,),
            python=sys.executable,
            evaluator=False,
            environment={"NAMED": "here"},
        )
        job = launch_script(script(tmp_path), cluster, RATE, model_dir=str(tmp_path / "model"))
        state = job_handle.wait_for_job(job)
    assert state["state"] == "done", state["failure"]
    for task in ("chief 0", "worker 0"):
        said = job_handle.job_logs(job, task, "info")
        assert "INFO: given ['--rate', 'a; b'] train; it.py here" in said
    job_fakes.result(job)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    Path("train it.py").write_text("print('trained')\n", encoding="utf-8")
    return FakeSlurm.on_path(tmp_path, monkeypatch, _FRESH_S=0.0)


def test_a_script_is_submitted_to_slurm_and_found_from_any_directory(
    slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
):
    cluster = SlurmCluster(
        nodes=2, workers=2, ps=1, setup=("module load R",), environment={"NAMED": "here"}
    )
    handle = launch_script("train it.py", cluster, ["--rate", "0.1"], model_dir="runs/cars")
    lines = (slurm.directory / "sbatch.input").read_text().splitlines()
    assert {"#SBATCH --nodes=2", "module load R"} <= set(lines)
    job = read_job(os.path.join(handle["directory"], FILE))
    assert stat.S_IMODE(Path(job.directory).stat().st_mode) == 0o700
    assert job.command[1:] == (f"{job.directory}/script/train it.py", "--rate", "0.1")
    assert Path(job.command[1]).read_text() == "print('trained')\n"
    assert [str(task) for task in job.tasks] == ["chief 0", "worker 0", "ps 0", "evaluator 0"]
    # The script imports this package, which the nodes share with this machine.
    assert set(job.environment) == {"PYTHONPATH", "NAMED"}
    monkeypatch.chdir("/")
    assert job_handle.find_job("7") == handle
    slurm.says("squeue", "CANCELLED|None|n1")
    state = job_handle.wait_for_job(handle)
    assert (state["state"], state["message"]) == ("stopped", "Job 7 of Slurm was cancelled.")
    assert not Path(job.directory).parent.exists()


def test_ctrl_c_stops_a_script_in_slurm(slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch):
    handle = launch_script("train it.py", SlurmCluster(nodes=2, workers=2), model_dir="m")

    def interrupt(job: Mapping[str, Any]) -> None:
        slurm.says("squeue", "CANCELLED|None|")
        raise KeyboardInterrupt

    monkeypatch.setattr(job_handle, "job_state", interrupt)
    assert job_handle.wait_for_job(handle)["state"] == "stopped"
    assert slurm.asked("scancel") == ["7"]


def test_what_slurm_does_not_accept_leaves_nothing(slurm: FakeSlurm, tmp_path: Path):
    slurm.says("sbatch", error="sbatch: error: invalid partition specified: gpu", code=1)
    cluster = SlurmCluster(nodes=2, workers=2, partition="gpu")
    with pytest.raises(ClusterError, match="Slurm does not accept this job: invalid partition"):
        launch_script("train it.py", cluster, model_dir="m")
    assert not (tmp_path / "m" / ".jobs").exists()


def test_a_script_runs_on_kubernetes(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text("print('trained')\n", encoding="utf-8")
    with kubernetes_server() as server:
        fake = PYTHON / "support" / "kubernetes_server.py"
        cluster = KubernetesCluster(
            image="a/b:1",
            workers=2,
            kubectl=(sys.executable, str(fake), "--server", server.url),
            volumes={"/models": "claim"},
        )
        handle = launch_script(str(path), cluster, ["--rate", "0.1"])
        (job,) = server.names("jobs")
        pods = server.only("jobs")["spec"]["template"]["spec"]
        assert pods["containers"][0]["command"][-4:] == ["python", "train.py", "--rate", "0.1"]
        labels = {"tfdistribute/job": job, "batch.kubernetes.io/job-completion-index": "0"}
        server.add_pod("pod", labels, {"phase": "Running"})
        server.logs["pod"] = "INFO: trained\n"
        # The handle is a plain value, which a later process can read.
        handle = json.loads(json.dumps(handle))
        assert job_handle.job_state(handle)["state"] == "training"
        assert job_handle.job_logs(handle) == ["[chief 0] INFO: trained"]
        assert "is not there any more" in job_handle.stop_job(handle)["message"]
        assert server.names("jobs") == []
        assert list((tmp_path / "tmp").iterdir()) == []
    managed_job._known.clear()
