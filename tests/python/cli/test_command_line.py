"""``python -m tfdistribute`` in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path

import pytest
from support.fake_gpus import DESCRIBED, fake_nvidia_smi

SOURCES = Path(__file__).parents[3] / "inst" / "python"
GOOD = json.dumps({"cluster": {"chief": ["192.0.2.1:1"]}, "task": {"type": "chief", "index": 0}})
BAD = json.dumps({"cluster": {"worker": ["192.0.2.1:1"], "ps": ["192.0.2.1:2"]}})


def command(*arguments: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), **(env or {})}
    done = subprocess.run(
        [sys.executable, "-m", "tfdistribute", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("check", "--help"), ("plan", "--help")])
def test_help_is_given(arguments: tuple[str, ...]):
    code, output, _ = command(*arguments)
    assert code == 0
    assert output.startswith("usage: python -m tfdistribute")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("check", "--workers"),
        ("check",),
        ("check", "no-such-file"),
        ("plan", "--ps", "x"),
    ],
)
def test_a_call_that_cannot_be_understood_ends_with_2(arguments: tuple[str, ...]):
    code, output, errors = command(*arguments)
    assert (code, output) == (2, "")
    assert errors


def test_check_ends_with_0_where_nothing_is_found_and_1_otherwise():
    assert command("check", env={"TF_CONFIG": GOOD}) == (0, "No mistake was found.\n", "")
    code, output, _ = command("check", env={"TF_CONFIG": BAD})
    assert code == 1
    assert output.splitlines() == [
        "error: chief: A cluster with parameter servers needs a chief to create its variables, and has none.",
        "  -> Make one of the workers the chief.",
    ]


def test_check_takes_less_than_a_second_of_the_processor():
    before = os.times()
    assert command("check", env={"TF_CONFIG": BAD})[0] == 1
    after = os.times()
    # Importing TensorFlow alone would take several. Other load on the machine does not count.
    user, system = (
        after.children_user - before.children_user,
        after.children_system - before.children_system,
    )
    assert user + system < 1


def test_check_compares_files_and_prints_json(tmp_path: Path):
    for name, text in (("a", GOOD), ("b", BAD)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    code, output, _ = command("check", "--json", str(tmp_path / "a"), str(tmp_path / "b"))
    assert code == 1
    assert [set(row) for row in json.loads(output)] == [{"field", "severity", "message", "fix"}]


def test_plan_prints_the_tasks_of_a_local_cluster_or_of_tf_config():
    code, output, _ = command("plan", "--workers", "2", "--batch-size", "8", "--json")
    assert code == 0
    assert [row["task"] for row in json.loads(output)] == ["chief 0", "worker 0", "evaluator 0"]
    code, output, _ = command("plan", env={"TF_CONFIG": GOOD})
    assert code == 0
    assert output.startswith("chief 0 on 192.0.2.1:1: trains as the chief")
    code, _, errors = command("plan", "--workers", "3", "--batch-size", "8")
    assert code == 1
    assert "cannot be split evenly over 3 replicas" in errors


def test_doctor_reports_without_starting_tensorflow():
    pytest.importorskip("tensorflow")
    code, output, _ = command("doctor", "--json")
    report = json.loads(output)
    assert code == 0
    assert report["problems"] == []
    assert report["gpus"] is None
    assert {"deprecation_warnings", "all_reduce"} <= {each["name"] for each in report["patches"]}
    assert "deprecation:_PRINT_DEPRECATION_WARNINGS" in command("doctor", "--patches")[1]


@pytest.mark.parametrize("devices", [False, True])
def test_doctor_shows_gpus_and_what_tensorflow_lacks_to_use_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, devices: bool
):
    pytest.importorskip("tensorflow")
    fake_nvidia_smi(tmp_path, monkeypatch)
    code, output, _ = command("doctor", *["--devices"] * devices)
    assert f"  {DESCRIBED}\n" in output
    assert code == 1
    # One problem, whether TensorFlow is started or not.
    (problem,) = [line for line in output.splitlines() if line.startswith("!")]
    # The package tensorflow is built for GPUs, and tensorflow_cpu is not.
    is_built = any(found.name == "tensorflow" for found in distributions())
    assert ("libcuda.so.1" if is_built else 'pip install "tensorflow[and-cuda]==') in problem
