"""``python -m tfdistribute`` in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from support.fake_gpus import DESCRIBED, fake_nvidia_smi

SOURCES = Path(__file__).parents[2] / "inst" / "python"


def command(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tfdistribute", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("doctor", "--help"), ("run-task", "--help")])
def test_help_is_given(arguments: tuple[str, ...]):
    code, output, _ = command(*arguments)
    assert code == 0
    assert output.startswith("usage: python -m tfdistribute")


@pytest.mark.parametrize(
    "arguments", [(), ("fly",), ("run-task",), ("run-task", "--"), ("doctor", "--", "x")]
)
def test_a_call_that_cannot_be_understood_ends_with_2(arguments: tuple[str, ...]):
    code, output, errors = command(*arguments)
    assert (code, output) == (2, "")
    assert errors


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
