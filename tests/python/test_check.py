"""``tools/check`` with stand-ins for the tests: what it prints, and how it fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PYTEST = """
PROVED Restarts
12.50s call     tests/python/a/test_a.py::test_slow[x y]
0.60s setup    tests/python/a/test_a.py::test_quick
============ 41 passed, 3 deselected in 9.00s ============
"""
TESTTHAT = """
PROVED The same numbers
PROVED R functions as models
3.25s call     test-launch.R: a job's end is told
testthat: 7 passed, 0 failed
"""
FAILED_PYTEST = """
FAILED tests/python/a/test_a.py::test_slow[x y] - AssertionError: no
ERROR tests/python/a/test_a.py::test_quick
============ 2 failed, 40 passed in 9.00s ============
"""
FAILED_TESTTHAT = """
FAILED test-launch.R: a job's end is told
testthat: 6 passed, 1 failed
"""
README = """## Promises

* **The same numbers.** With the same seed ...
* **Restarts.** If a process dies ...
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / ".environment" / "logs").mkdir(parents=True)
    (tools / "check").write_text((ROOT / "tools" / "check").read_text("utf-8"), "utf-8")
    (tmp_path / "README.md").write_text(README, "utf-8")
    answer(tmp_path, "setup", "", 0)
    answer(tmp_path, "env", PYTEST, 0)
    answer(tmp_path, "test-r", TESTTHAT, 0)
    return tmp_path


def answer(project: Path, tool: str, text: str, status: int) -> None:
    """Let a tool note its arguments, print a text and end."""
    program = project / "tools" / tool
    lines = f"#!/bin/bash\necho \"{tool} $*\" >>calls\ncat <<'END'\n{text}END\nexit {status}\n"
    program.write_text(lines, "utf-8")
    program.chmod(0o755)


def check(project: Path, *arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["bash", str(project / "tools" / "check"), *arguments],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout.splitlines()


def test_each_part_prints_one_line_and_the_last_says_what_was_proved(project: Path) -> None:
    status, lines = check(project, "--test")
    assert status == 0
    parts = {line.split()[0]: line for line in lines if " passed after " in line}
    assert sorted(parts) == ["engine", "jobs", "models", "python", "testthat", "training"]
    assert parts["testthat"].endswith(" s, 7 tests passed")
    assert parts["jobs"].endswith(" s, 41 tests passed")
    assert lines[-1] == "check: proved: R functions as models, Restarts, The same numbers"
    calls = (project / "calls").read_text("utf-8")
    assert "-m jobs and not full and (promise or smoke or plain) --durations" in calls


def test_parts_that_need_only_the_default_environment_do_not_wait_for_the_others(
    project: Path,
) -> None:
    script = '#!/bin/bash\nif [ "$1" = engines ]; then sleep 1; echo "setup ended" >>calls; fi\n'
    (project / "tools" / "setup").write_text(script, "utf-8")
    assert check(project, "jobs", "models")[0] == 0
    calls = (project / "calls").read_text("utf-8")
    places = [calls.index(each) for each in ("tests/python/models", "setup ended", "-m jobs")]
    assert places == sorted(places)


def test_a_failed_part_prints_the_commands_that_repeat_its_failed_tests(project: Path) -> None:
    answer(project, "env", FAILED_PYTEST, 1)
    answer(project, "test-r", FAILED_TESTTHAT, 1)
    status, lines = check(project, "python", "testthat")
    assert status == 1
    assert (
        r"  tools/env python -m pytest -m '' tests/python/a/test_a.py::test_slow\[x\ y\]" in lines
    )
    assert "  tools/env python -m pytest -m '' tests/python/a/test_a.py::test_quick" in lines
    assert r"  tools/test-r '^launch$' a\ job\'s\ end\ is\ told" in lines
    assert set(lines[-1].partition("failed: ")[2].split()) == {"python", "testthat"}


def test_the_summary_shows_why_a_part_without_tests_failed(project: Path) -> None:
    answer(
        project,
        "check-package",
        "* checking links ... WARNING\nMissing link: x\ncheck: found a warning\n",
        1,
    )
    _, lines = check(project, "package")
    summary = lines[lines.index("== What failed in package:") :]
    assert {"Missing link: x", "check: found a warning"} <= set(summary)


def test_a_promise_that_no_test_has_proved_is_a_failure(project: Path) -> None:
    answer(project, "test-r", "testthat: 7 passed, 0 failed\n", 0)
    status, lines = check(project, "--test")
    assert status == 1
    assert lines[-1] == "check: no test proved what README promises: The same numbers"


def test_the_slowest_tests_of_both_languages_are_logged(project: Path) -> None:
    assert check(project, "python", "testthat")[0] == 0
    durations = project / ".environment" / "logs" / "durations.log"
    assert durations.read_text("utf-8").splitlines() == [
        "12.50 s  tests/python/a/test_a.py::test_slow[x y]",
        "3.25 s  test-launch.R: a job's end is told",
        "0.60 s  tests/python/a/test_a.py::test_quick",
    ]


def test_processor_time_above_the_budget_is_a_failure_also_that_of_an_orphan(
    project: Path,
) -> None:
    text = (project / "tools" / "check").read_text("utf-8")
    assert text.count("\nbudget_min=9\n") == 1
    text = text.replace("\nbudget_min=9\n", "\nbudget_min=0\n")
    (project / "tools" / "check").write_text(text, "utf-8")
    # Nobody's child, which has ended before the tests have.
    busy = "import time\nwhile time.process_time() < 1.5: pass\nopen('ended', 'w')"
    script = f"""#!/bin/bash
(setsid python3 -c "{busy}" &)
until [ -e ended ]; do sleep 0.1; done
sleep 0.3
echo "{TESTTHAT}"
"""
    (project / "tools" / "test-r").write_text(script, "utf-8")
    status, lines = check(project, "--test")
    assert status == 1
    assert any(line.endswith(" s of processor time") for line in lines)
    assert "12.50 s  tests/python/a/test_a.py::test_slow[x y]" in lines
    assert lines[-1].startswith("check: `make test` may take 0 minutes of processor time.")


def test_a_tensorflow_that_this_python_cannot_run_is_left_out_and_named(project: Path) -> None:
    (project / "tools" / "python-packages-2.15.txt").touch()
    refusal = "setup: TensorFlow 2.15 needs Python 3.10 to 3.11."
    script = f'#!/bin/bash\nif [ "$1" = fits ]; then echo "{refusal}"; exit 1; fi\n'
    (project / "tools" / "setup").write_text(script, "utf-8")
    status, lines = check(project, "versions")
    assert status == 0
    assert "LEFT OUT: the tests with TensorFlow 2.15" in lines


MARKERS = "plain\n slow\n jobs\n versions\n again\n full"
TESTS = """
import time
import pytest
import support.plain

support.plain.PLAIN_S = 0.2

@pytest.fixture
def tensorflow(): ...

@pytest.fixture
def devices(tensorflow): ...

def test_quick(): ...

def test_long():
    end = time.process_time() + 0.5
    while time.process_time() < end: ...

@pytest.mark.slow
def test_slow(): test_long()

@pytest.mark.jobs
def test_job(): ...

@pytest.mark.versions
@pytest.mark.parametrize("case", [pytest.param(0, marks=pytest.mark.full), 1, 2])
def test_tensorflow(devices, case): ...
"""


def test_tests_are_marked_by_what_they_start_and_by_their_first_case(tmp_path: Path) -> None:
    (tmp_path / "test_few.py").write_text(TESTS, "utf-8")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers = {MARKERS}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "support.plain", "-rA", str(tmp_path)]
    path = f"{ROOT}/tests/python:{ROOT}/inst/python"

    def outcomes(marks: str) -> set[str]:
        done = subprocess.run(
            [*command, "-m", marks],
            check=False,
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": path},
        )
        found = re.findall(r"^(PASSED|FAILED) \S*::test_(\S+)", done.stdout, re.MULTILINE)
        return {f"{name} {outcome}" for outcome, name in found}

    assert outcomes("plain") == {"quick PASSED", "long FAILED"}
    assert outcomes("not plain and not versions") == {"slow PASSED", "job PASSED"}
    assert outcomes("versions and not again and not full") == {"tensorflow[1] PASSED"}
