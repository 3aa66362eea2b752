"""Scripts, models and directories whose names contain shell syntax; hosts are refused elsewhere."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import job_fakes

from tfdistribute.plan import Workload, plan

pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

# Commands that would leave a file if executed, and characters that separate or start words.
ACTS = ("$(touch X)", "`touch X`", ";touch X;", "|touch X", "&touch X&", ">X", "\ntouch X\n")
CHARACTERS = " \t\n'\"\\$`;&|<>(){}[]*?!#~=%^@+,-ü"


def names(count: int) -> Iterator[str]:
    """Random file names."""
    source = random.Random(11)
    for number in range(count):
        around = [source.choice(CHARACTERS) for _ in range(source.randint(2, 8))]
        around.insert(source.randint(0, len(around)), ACTS[number % len(ACTS)])
        yield "".join(around)


def test_the_command_of_a_plan_hands_a_script_of_any_name_to_rscript(tmp_path: Path):
    for name in names(40):
        (row,) = plan(None, Workload("m", script=name))
        shell = f"Rscript() {{ printf '%s.' \"$@\"; }}; {row.command}"
        done = subprocess.run(
            ["sh", "-c", shell],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        assert (done.stdout, done.stderr) == (f"{name}.", ""), name
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_jobs_run_in_directories_of_any_name(tmp_path: Path):
    for number, drawn in enumerate(names(5)):
        # Line breaks and what TensorFlow reads as a pattern are refused.
        name = "".join(each for each in drawn if each not in "\t\n*?[\\")
        directory = tmp_path / str(number) / name
        directory.mkdir(parents=True)
        acts = {"chief": [("print", name), *job_fakes.TRAINS]}
        state = job_fakes.run_job(
            directory, acts, environment={"A": name}, model_dir=str(directory / name)
        )
        assert (state["state"], state["global_step"]) == ("done", 3)
        assert state["logs"] == str(directory / name / "logs")
        assert [path.name for path in directory.iterdir()] == [name]
        assert [path.name for path in directory.parent.iterdir()] == [name]
