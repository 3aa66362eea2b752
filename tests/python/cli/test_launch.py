"""``python -m tfdistribute launch``, ``logs`` and ``stop`` in separate processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import job_fakes

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

SOURCES = Path(__file__).parents[3] / "inst" / "python"

SCRIPT = """
import sys
code, acts = {code!r}, {acts!r}
given = sys.argv[1:]
sys.argv = ["task", acts]
exec(code)
print("INFO: given", given)
"""


def script(directory: Path, acts: Mapping[str, Any]) -> str:
    path = directory / "train; it.py"
    every = {"chief": job_fakes.TRAINS, "worker": job_fakes.TRAINS, "evaluator": [("finish", 3)]}
    code = job_fakes.command({**every, **acts})
    path.write_text(SCRIPT.format(code=code[4], acts=code[5]), encoding="utf-8")
    return str(path)


def started(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tfdistribute", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def command(directory: Path, *arguments: str) -> tuple[int, str, str]:
    with started(directory, *arguments) as process:
        output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def wait_for_first_step(job: subprocess.Popen[str]) -> None:
    assert job.stdout is not None
    while not (line := job.stdout.readline()).startswith("step "):
        assert line, "The job ended."


def test_help_is_given(tmp_path: Path):
    for word in ("launch", "logs", "stop"):
        code, output, _ = command(tmp_path, word, "--help")
        assert (code, output.split()[:5]) == (0, ["usage:", "python", "-m", "tfdistribute", word])


def test_a_call_that_cannot_be_understood_ends_with_2(tmp_path: Path):
    (tmp_path / "a.sh").touch()
    for arguments in (
        ("launch", "none.R", "--workers", "2"),
        ("launch", "a.sh", "--workers", "2"),
        ("launch", "a.sh"),
        ("launch", "a.sh", "--workers", "0"),
        ("logs", "none"),
        ("check", "--", "x"),
    ):
        code, output, errors = command(tmp_path, *arguments)
        assert (code, output) == (2, ""), arguments
        assert errors


def test_every_task_runs_the_script_and_the_result_is_json(tmp_path: Path):
    path = script(tmp_path, {})
    options = ("--workers", "2", "--model-dir", "m", "--json")
    code, output, errors = command(tmp_path, "launch", path, *options, "--", "--rate", "a; b")
    assert (code, errors) == (0, "")
    state = json.loads(output)
    assert (state["state"], state["global_step"], state["verb"]) == ("done", 3, "script")
    assert state["logs"] == str(tmp_path / "m" / "logs")
    code, output, _ = command(tmp_path, "logs", "m", "--task", "worker 0", "--level", "info")
    assert (code, output.splitlines()[1:]) == (0, ["INFO: given ['--rate', 'a; b']"])
    code, output, _ = command(tmp_path, "logs", "m", "--json")
    assert len(json.loads(output)) == 6
    code, output, errors = command(tmp_path, "logs", "m", "--task", "ps 0")
    assert (code, output) == (1, "")
    assert "Use one of chief 0, evaluator 0, worker 0." in errors


def test_what_a_script_prints_is_shown(tmp_path: Path):
    path = script(tmp_path, {"worker": [("train", 1), ("print", "hello"), ("train", 3)]})
    code, output, _ = command(tmp_path, "launch", path, "--workers", "2")
    assert code == 0
    lines = output.splitlines()
    assert "[worker 0] hello" in lines
    assert "done: Training has ended at step 3." in lines


def test_a_failure_ends_with_1_and_tells_the_cause_and_the_table(tmp_path: Path):
    fails = [("train", 1), ("print", "WARNING: near"), ("fail", "No column x.", False, "input")]
    path = script(tmp_path, {"worker": fails, "chief": [("train", 1), ("sleep", 60)]})
    code, output, errors = command(
        tmp_path, "launch", path, "--workers", "2", "--no-evaluator", "--restarts", "0"
    )
    assert code == 1
    assert errors.startswith("worker 0 on localhost failed: No column x.\n")
    assert "Traceback of worker-0" in errors
    assert "[worker 0] WARNING: near" in output
    lines = output.splitlines()
    table = lines.index("failed: No column x.") + 1
    assert [line.split()[:2] for line in lines[table : table + 3]] == [
        ["task", "pid"],
        ["chief", "0"],
        ["worker", "0"],
    ]


def test_a_job_is_followed_and_stopped_from_another_process(tmp_path: Path):
    saves = [("save_on_interrupt", 3), ("print", "hello"), ("train", 3), ("sleep", 60)]
    path = script(tmp_path, {"chief": saves, "worker": [("train", 3), ("sleep", 60)]})
    with started(tmp_path, "launch", path, "--workers", "2", "--model-dir", "m") as job:
        wait_for_first_step(job)
        with started(tmp_path, "logs", "m", "--follow", "--task", "chief 0") as follower:
            code, output, errors = command(tmp_path, "stop", "m")
            assert (code, errors) == (0, "")
            assert output.endswith("The job was stopped. Its last checkpoint is of step 3.\n")
            followed, _ = follower.communicate(timeout=20)
            assert "[chief 0] hello" in followed.splitlines()
        assert job.wait(timeout=20) == 130
    assert command(tmp_path, "stop", "m")[0] == 1


def test_ctrl_c_stops_a_job_and_nothing_of_it_stays(tmp_path: Path):
    path = script(
        tmp_path, {"chief": [("train", 3), ("stubborn",), ("child", True), ("sleep", 60)]}
    )
    with started(tmp_path, "launch", path, "--workers", "2") as job:
        wait_for_first_step(job)
        time.sleep(0.3)
        for _ in range(2):
            job.send_signal(signal.SIGINT)
            time.sleep(0.3)
        assert job.wait(timeout=20) == 130
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
    code, output, errors = command(
        tmp_path, "launch", str(path), "--workers", "2", "--no-evaluator", "--level", "info"
    )
    assert code == 1
    assert errors.startswith("worker 0 on localhost failed: worker 0 (pid ")
    assert "Error: no data" in errors
    assert '[worker 0] INFO: task {"cluster": {"chief": ["127.0.0.1:2222"]' in output
