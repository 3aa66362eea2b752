"""Tests of which versions fit together, and of the lists that name them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import project

from tfdistribute import versions

ROOT = Path(__file__).parents[2]

FITTING = {
    "2.15": {"tensorflow-cpu": "2.15.1", "keras": "2.15.0", "numpy": "1.26.4"},
    "2.21": {
        "tensorflow": "2.21.0",
        "keras": "3.15.1",
        "tf_keras": "2.21.0",
        "numpy": "2.4.6",
    },
}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The installed packages; a test fills it."""
    packages = {"tensorflow-estimator": "2.15.0"}
    monkeypatch.setattr(versions, "installed", packages.get)
    return packages


@pytest.mark.parametrize("version", FITTING)
def test_packages_that_fit_together_are_no_problem(version: str, installed: dict[str, str]):
    installed.update(FITTING[version])
    assert versions.problems() == []


def test_the_report_names_the_keras_of_estimators_and_keras_3(installed: dict[str, str]):
    installed.update(FITTING["2.21"])
    assert versions.packages() == {
        "tensorflow": "2.21.0",
        "tensorflow-estimator": "2.15.0",
        "Keras 2": "2.21.0 (tf_keras)",
        "Keras 3": "3.15.1 (keras)",
        "numpy": "2.4.6",
    }
    installed.clear()
    installed.update({**FITTING["2.15"], "tf_keras": "2.15.1"})
    assert versions.packages()["Keras 2"] == "2.15.0 (keras)"
    assert versions.packages()["tensorflow-estimator"] is None


@pytest.mark.parametrize(
    ("version", "change", "problem", "fix"),
    [
        (
            "2.21",
            {"tf_keras": None},
            "tf_keras is not installed, and the Estimators of TensorFlow 2.21.0 need tf_keras 2.21 (Keras 2).",
            'pip install --no-deps "tf_keras==2.21.*"',
        ),
        (
            "2.21",
            {"tf_keras": "2.18.0"},
            "tf_keras is installed in version 2.18.0, and the Estimators of TensorFlow 2.21.0 need tf_keras 2.21",
            'pip install --no-deps "tf_keras==2.21.*"',
        ),
        (
            "2.15",
            {"keras": "3.15.1"},
            "keras is installed in version 3.15.1, and the Estimators of TensorFlow 2.15.1 need keras 2.15",
            'pip install --no-deps "keras==2.15.*"',
        ),
        ("2.15", {"numpy": "2.0.2"}, "TensorFlow 2.15.1 needs numpy 1", 'pip install "numpy<2"'),
        (
            "2.15",
            {"tensorflow-estimator": None},
            "tensorflow-estimator is not installed, and tfdistribute needs 2.15.0.",
            "pip install --no-deps tensorflow-estimator==2.15.0",
        ),
        ("2.15", {"tensorflow-cpu": None}, "TensorFlow is not installed", "pip install"),
        (
            "2.15",
            {"tensorflow": "2.21.0"},
            "tensorflow 2.21.0 and tensorflow-cpu 2.15.1 are installed over each other.",
            "pip uninstall tensorflow tensorflow-cpu",
        ),
        (
            "2.21",
            {"tensorflow": "2.22.0", "tf_keras": "2.22.0"},
            "TensorFlow 2.22.0 is newer than 2.21, the newest version that tfdistribute is tested with.",
            'pip install "tensorflow==2.21.*" "tf_keras==2.21.*"',
        ),
        (
            "2.15",
            {"tensorflow-cpu": "2.9.0", "keras": "2.9.0"},
            "TensorFlow 2.9.0 is older than 2.15",
            'pip install "tensorflow==2.21.*"',
        ),
    ],
)
def test_a_misfit_is_named_with_the_command_that_repairs_it(
    version: str,
    change: dict[str, str | None],
    problem: str,
    fix: str,
    installed: dict[str, str],
):
    installed.update(FITTING[version])
    for name, value in change.items():
        installed.pop(name, None)
        if value is not None:
            installed[name] = value
    found = versions.problems()[0]
    assert problem in found.message
    assert fix in found.fix


def test_every_tested_version_has_a_pinned_list():
    lists = {
        path.stem.rpartition("-")[2] for path in (ROOT / "tools").glob("python-packages-*.txt")
    }
    assert {versions.DEFAULT, *lists} == set(versions.TESTED)


@pytest.mark.parametrize("version", versions.TESTED)
def test_a_pinned_list_has_one_tensorflow_and_what_fits_it(version: str, installed: dict[str, str]):
    suffix = "" if version == versions.DEFAULT else f"-{version}"
    text = (ROOT / "tools" / f"python-packages{suffix}.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", text, re.MULTILINE))
    installed.clear()
    installed.update({re.sub("^tensorflow_", "tensorflow-", name): pinned[name] for name in pinned})
    assert sum(name in installed for name in ("tensorflow", "tensorflow-cpu")) == 1
    assert (versions.tensorflow() or "").startswith(f"{version}.")
    assert versions.problems() == []


def test_what_install_tfdistribute_locks_is_what_the_tests_have():
    lists = ROOT / "inst" / "tested-packages"
    assert {path.stem for path in lists.glob("*.txt")} == set(versions.TESTED)
    writer = str(ROOT / "tools" / "tested_packages.py")
    check = subprocess.run(
        [sys.executable, writer, "--check"], check=False, capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout


def test_r_and_the_python_package_name_the_same_versions():
    r = (ROOT / "R" / "install.R").read_text(encoding="utf-8")
    assert f'default_tensorflow <- "{versions.DEFAULT}"' in r
    assert f'"tensorflow-estimator=={versions.ESTIMATOR}"' in r
    major, minor = versions.TESTED[-1].split(".")
    settings = project.settings()["project"]
    assert f"tensorflow-estimator=={versions.ESTIMATOR}" in settings["dependencies"]
    extras = settings["optional-dependencies"]
    newest = f">={versions.DEFAULT},<{major}.{int(minor) + 1}"
    assert {f"tensorflow{newest}", f"tf_keras{newest}"} <= set(extras["cpu"])
    assert extras["oldest"][0].startswith(f"tensorflow-cpu>={versions.TESTED[0]},")
    system = (ROOT / "DESCRIPTION").read_text(encoding="utf-8")
    assert f"TensorFlow (>= {versions.TESTED[0]}, < {major}.{int(minor) + 1})" in system
