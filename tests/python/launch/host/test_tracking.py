"""Trackers of jobs with fake tasks, whose histories the tests write."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import fake_job, result
from support.trackers import add_losses, logged_by, tracker, use_packages, values_of

from tfdistribute.errors import BackendError
from tfdistribute.launch.host import tracking
from tfdistribute.launch.start import start_supervisor

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]


def tracked(directory: Path, acts: dict[str, Any]) -> Any:
    model_dir = directory / "model"
    values = values_of(tracker("mlflow", directory), model_dir)
    return fake_job(directory, acts, tracking=values, network="private")


@pytest.mark.parametrize(
    ("act", "status"),
    [pytest.param(("finish", 3), "FINISHED", marks=pytest.mark.full), (("fail", "no"), "FAILED")],
)
def test_the_run_of_a_job_ends_as_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: tuple[Any, ...], status: str
):
    use_packages(monkeypatch, tmp_path)
    job = start_supervisor(tracked(tmp_path, {"chief": [("train", 3), ("sleep", 0.5), act]}))
    add_losses(tmp_path / "model", 1, 3)
    result(job)
    assert tracking.finish(job["directory"]) is None
    logged = logged_by("mlflow", tmp_path)
    assert logged.steps("loss") == [1, 2, 3]
    assert logged.status == status


def test_a_job_whose_tracker_cannot_log_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    job = tracked(tmp_path, {})
    began = time.monotonic()
    with pytest.raises(BackendError, match="mlflow-skinny"):
        start_supervisor(job)
    assert time.monotonic() - began < 60
    assert not list((tmp_path / "model").glob("logs/*"))
