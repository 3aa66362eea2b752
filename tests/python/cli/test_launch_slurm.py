"""``python -m tfdistribute launch --slurm`` and what follows it, with programs that answer as Slurm's do."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from support.fake_slurm import FakeSlurm

from tfdistribute.cli import main
from tfdistribute.cli.job_console import JobConsole
from tfdistribute.launch.job import FILE, Job, read_job


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    monkeypatch.chdir(tmp_path)
    Path("train it.py").write_text("print('trained')\n", encoding="utf-8")
    return FakeSlurm.on_path(tmp_path, monkeypatch, _FRESH_S=0.0)


def launch(*arguments: str) -> int:
    return main(["launch", "train it.py", "--slurm", "--nodes", "2", *arguments])


def submitted(*arguments: str) -> Job:
    """Submit a job with a directory for its model, and return it."""
    assert launch("--no-wait", "--model-dir", "runs/cars", *arguments) == 0
    (directory,) = Path("runs/cars/.jobs").absolute().iterdir()
    return read_job(str(directory / FILE))


def test_a_script_is_submitted_with_what_was_asked_for(
    slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    options = ("--partition", "long", "--time-limit", "04:00:00", "--option=--mem=8G")
    more = ("--setup", "module load R", "--no-requeue", "--environment", "NAMED=here", "--ps", "1")
    job = submitted(*options, *more, "--", "--rate", "0.1")
    said = capsys.readouterr().out
    assert said == "Job 7 of Slurm was submitted; `logs` and `stop` know it as 7\n"
    script = (slurm.directory / "sbatch.input").read_text().splitlines()
    for line in (
        *("#SBATCH --nodes=2", "#SBATCH --partition=long", "#SBATCH --time=04:00:00"),
        *("#SBATCH --mem=8G", "#SBATCH --no-requeue", "module load R"),
    ):
        assert line in script
    assert stat.S_IMODE(Path(job.directory).stat().st_mode) == 0o700
    assert job.command[1:] == (f"{job.directory}/script/train it.py", "--rate", "0.1")
    assert Path(job.command[1]).read_text() == "print('trained')\n"
    assert [str(task) for task in job.tasks] == ["chief 0", "worker 0", "ps 0", "evaluator 0"]
    # The script imports this package, which the nodes share with this machine.
    assert set(job.environment) == {"PYTHONPATH", "NAMED"}


def test_a_job_is_listed_shown_and_stopped_by_its_number_from_any_directory(
    slurm: FakeSlurm, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    job = submitted()
    capsys.readouterr()
    monkeypatch.chdir("/")
    assert main(["list"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row == [job.id, "queued", f"{job.model_dir}/logs", str(job.model_dir)]
    slurm.says("squeue", "RUNNING|None|n1")
    assert main(["logs", "7"]) == 2
    assert "no task has logged anything" in capsys.readouterr().err
    Path(str(job.model_dir), "logs", "chief-0.log").write_text("INFO: trained\n")
    assert main(["logs", "7"]) == 0
    assert capsys.readouterr().out == "[chief 0] INFO: trained\n"
    slurm.says("squeue", "CANCELLED|None|n1")
    assert main(["list"]) == 0
    assert "stopped" in capsys.readouterr().out
    assert main(["stop", "7"]) == 1
    assert not Path(job.directory).parent.exists()


def test_two_scripts_without_a_model_dir_wait_beside_each_other(slurm: FakeSlurm, tmp_path: Path):
    assert launch("--no-wait") == launch("--no-wait") == 0
    assert len(list((tmp_path / ".jobs").iterdir())) == 2


@pytest.mark.parametrize(
    ("entry", "code", "text"),
    [
        ("CANCELLED|None|n1", 130, "stopped: Job 7 of Slurm was cancelled.\n"),
        ("TIMEOUT|TimeLimit|n1", 1, "failed: Job 7 of Slurm ended (TIMEOUT) before"),
    ],
)
def test_a_script_is_followed_to_its_end(
    slurm: FakeSlurm, capsys: pytest.CaptureFixture[str], entry: str, code: int, text: str
):
    slurm.says("squeue", entry)
    assert launch("--model-dir", "m") == code
    assert text in capsys.readouterr().out
    assert launch("--model-dir", "m", "--json") == code
    assert json.loads(capsys.readouterr().out)["slurm_id"] == "7"


def test_ctrl_c_stops_a_script_that_is_followed(
    slurm: FakeSlurm, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    class Interrupted(JobConsole):
        def __call__(self, state: dict[str, Any]) -> None:
            super().__call__(state)
            if state["ended"] is None:
                slurm.says("squeue", "CANCELLED|None|")
                raise KeyboardInterrupt

    monkeypatch.setattr("tfdistribute.cli.launch.JobConsole", Interrupted)
    assert launch("--model-dir", "m") == 130
    said = capsys.readouterr().out
    assert "queued: Job 7 of Slurm waits (Resources).\n" in said
    assert said.endswith("stopped: Job 7 of Slurm was cancelled.\n")
    assert slurm.asked("scancel") == ["7"]


def test_what_slurm_does_not_accept_leaves_nothing(
    slurm: FakeSlurm, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    slurm.says("sbatch", error="sbatch: error: invalid partition specified: gpu", code=1)
    assert launch("--partition", "gpu", "--model-dir", "m") == 1
    assert "Slurm does not accept this job: invalid partition" in capsys.readouterr().err
    assert not (tmp_path / "m" / ".jobs").exists()
    for wrong in ("--option=--array=1-3", "--time-limit=soon", "--stop-signal=5"):
        assert launch(wrong) == 1
        assert capsys.readouterr().err.startswith("`")
    assert not (tmp_path / ".jobs").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--slurm",), "--workers, --hosts or --slurm --nodes is missing"),
        (("--slurm", "--nodes", "2", "--hosts", "a"), "--hosts and --slurm exclude each other"),
        (("--workers", "2", "--time-limit", "1"), "--time-limit is given without --slurm"),
        (("--slurm", "--nodes", "2", "--ssh", "s"), "--ssh is given without --hosts"),
        (
            ("--workers", "2", "--python", "p"),
            "--python is given without --hosts, --slurm or --ray",
        ),
        (("--workers", "2", "--no-wait"), "--no-wait is given without --slurm or --ray"),
        (("--hosts", "a", "--network", "open"), "--network is for processes on this machine"),
    ],
)
def test_arguments_of_other_clusters_are_refused(
    slurm: FakeSlurm, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
):
    assert main(["launch", "train it.py", *arguments]) == 2
    assert capsys.readouterr().err == f"launch: {text}\n"
