"""The page of a job, which its supervisor writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import running, state_when
from support.metrics_pages import shown

from tfdistribute import history_file
from tfdistribute.bridge.live_metrics import view_job
from tfdistribute.launch import job_handle
from tfdistribute.metrics_page import JobPages, metrics_of

STATE: dict[str, Any] = {
    "state": "training",
    "model_dir": "/runs/cars",
    "global_step": 20,
    "max_steps": 100,
    "examples_per_second": 100.0,
    "ended": None,
    "evaluations": [{"global_step": 10, "loss": 0.4}],
    "tasks": [
        {
            "task": "chief 0",
            "activity": "training",
            "step": 20,
            "examples_per_second": 50.0,
            "input_wait": 0.62,
        }
    ],
    "failure": None,
    "history": None,
}
LOSSES: list[dict[str, float | None]] = [
    {"step": 1, "loss": 2.0, "seconds": 0.0},
    {"step": 21, "loss": 0.5, "seconds": 10.0},
]


def test_a_page_has_the_losses_the_tasks_and_the_reason_of_a_failure():
    metrics = metrics_of(STATE, LOSSES)
    assert (metrics.step, metrics.last_step, metrics.seconds_per_step) == (20, 100, 0.5)
    assert metrics.losses == [(1, 2.0), (21, 0.5)]
    assert metrics.tasks == [("chief 0", "training", 20, 50.0, "waits for input 62%")]
    assert not metrics.is_over
    failure = {"problem": "worker 0 was killed."}
    history = {"training": {"step": [1, 2], "loss": [2.0, 1.0]}}
    ended = {**STATE, "state": "failed", "ended": 5.0, "failure": failure, "history": history}
    metrics = metrics_of(ended)
    assert (metrics.message, metrics.is_over) == ("worker 0 was killed.", True)
    assert metrics.losses == [(1, 2.0), (2, 1.0)]


def test_the_supervisor_writes_the_requested_pages_and_the_end_at_once(tmp_path: Path):
    job, page = tmp_path / "job", tmp_path / "page"
    job.mkdir()
    page.mkdir()
    pages = JobPages(str(job))
    (job / "pages").write_text(f"{tmp_path / 'gone'}\n{page}\n", encoding="utf-8")
    pages.write(STATE, LOSSES)
    assert shown(page)["step"] == 20
    pages.write({**STATE, "global_step": 21}, LOSSES)
    assert shown(page)["step"] == 20
    pages.write({**STATE, "global_step": 22, "ended": 5.0}, LOSSES)
    assert shown(page)["step"] == 22


@pytest.mark.jobs
@pytest.mark.usefixtures("own_temporary_directory")
def test_a_page_follows_a_running_job_to_its_end(tmp_path: Path):
    page = tmp_path / "page"
    page.mkdir()
    acts = {"chief": [("train", 200), ("finish", 200)], "worker": [("sleep", 60)]}
    with running(tmp_path, acts, evaluator=False) as handle:
        state_when(handle, lambda state: (state["global_step"] or 0) > 1)
        view_job(handle, str(page))
        first = shown(page)
        assert first["state"] == "training"
        state_when(handle, lambda state: shown(page)["step"] > first["step"])
        assert len(shown(page)["losses"]) > 1
        job_handle.stop_job(handle)
        values = shown(page)
        assert (values["state"], values["is_over"]) == ("stopped", True)
        # After the end, the page is made from the result.
        view_job(handle, str(page))
        assert shown(page)["losses"] == values["losses"]


def test_the_page_of_a_slurm_job_has_the_losses_that_its_tasks_have_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model_dir = tmp_path / "model"
    model_dir.mkdir()
    row = {"step": 1, "loss": 2.0, "seconds": 0.0, "examples_per_second": None}
    history_file.append(str(model_dir), history_file.LOSSES, [row])
    monkeypatch.setattr(job_handle, "job_state", lambda job: STATE)
    page = tmp_path / "page"
    page.mkdir()
    handle = {
        "scheduler": "slurm",
        "key": "7",
        "model_dir": str(model_dir),
        "directory": "/on/another/machine",
    }
    view_job(handle, str(page))
    assert shown(page)["losses"] == [[1, 2.0]]
