"""Contract of schedulers: jobs in the queues of stand-ins, and a job of a fake scheduler from its start to its end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import fake_scheduler, ray_jobs, slurm_jobs
from support.fake_ray import FakeRay
from support.fake_slurm import FakeSlurm
from support.job_fakes import command, result, state_when
from support.remote_hosts import mark, marked, soon

from tfdistribute.errors import ClusterError, ModelDirectoryError, TrainingError
from tfdistribute.launch import job_files, job_handle
from tfdistribute.launch.job_files import SUBMISSION_FILE
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.schedulers.registry import SCHEDULERS

__all__ = ["mark"]

FIELDS = {"id", "pid", "scheduler", "key", "logs", "model_dir", "verb", "max_steps", "directory"}


@dataclass
class Queue:
    """A scheduler whose answers are set.

    Args:
        says: Sets the phase of all jobs, or with None that the scheduler does not answer.
        sent: Returns the requests to end a job.
    """

    scheduler: str
    submit: Callable[[Path], dict[str, Any]]
    says: Callable[[str | None], Any]
    sent: Callable[[], list[Any]]


def slurm(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    fake = FakeSlurm.on_path(directory, monkeypatch)
    states = {
        "waits": "PENDING|Resources",
        "runs": "RUNNING|None",
        "ended": "",
        "cancelled": "CANCELLED|",
    }

    def says(phase: str | None) -> None:
        if phase is None:
            fake.says("squeue", error="Unable to contact slurm controller", code=1)
        else:
            fake.says("squeue", states[phase])

    return Queue(
        "slurm", lambda path: slurm_jobs.submit(path, {}), says, lambda: fake.asked("scancel")
    )


def ray(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    fake = FakeRay.installed(monkeypatch)
    gone = ClusterError("No Ray cluster answers.")

    def says(phase: str | None) -> None:
        fake.answers["send_signal"] = gone if phase is None else phase == "runs"

    return Queue(
        "ray",
        lambda path: ray_jobs.submit(path, "head:6379", command=command({})),
        says,
        lambda: [each for each in fake.asked if each[1].get("number")],
    )


def fake(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    (directory / "full").touch()
    monkeypatch.setattr(
        fake_scheduler.FakeScheduler, "signal", lambda *given: sent.append(given) is None
    )
    sent: list[Any] = []

    def says(phase: str | None) -> None:
        if phase is None:
            (directory / "silent").touch()
        (folder,) = directory.glob("job-*")
        if phase in ("runs", "ended"):
            # This process, or none.
            (folder / "pid").write_text("1" if phase == "runs" else "0")
        if phase == "cancelled":
            (folder / "cancelled").touch()

    return Queue(
        "fake",
        fake_scheduler.submit,
        says,
        lambda: [*sent, *directory.glob("job-*/cancelled")],
    )


# An actor of Ray neither waits nor is cancelled.
WITH_QUEUES = [slurm, fake]


@pytest.fixture(params=[*WITH_QUEUES, ray], ids=lambda make: make.__name__)
def queue(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    made = request.param(tmp_path, monkeypatch)
    monkeypatch.setattr(client, "_answers", {})
    monkeypatch.setattr(client, "_FRESH_S", 0.0)
    monkeypatch.setattr(client, "_VISIBLE_S", 0.2)
    return made


def test_every_scheduler_is_tested() -> None:
    assert set(SCHEDULERS) == {"slurm", "ray", "fake"}


def test_a_job_is_found_by_its_handle_and_its_model_dir(tmp_path: Path, queue: Queue) -> None:
    job = queue.submit(tmp_path)
    assert set(job) == FIELDS
    assert job["scheduler"] == queue.scheduler
    assert SCHEDULERS[queue.scheduler].number(job["key"]) in client.title_of(job)
    queue.says("runs")
    assert job_handle.is_running(job)
    assert job_handle.find_job(str(tmp_path / "model")) == job
    with pytest.raises(ModelDirectoryError, match="is in use: Job"):
        queue.submit(tmp_path)


@pytest.mark.parametrize("queue", WITH_QUEUES, indirect=True)
def test_a_waiting_job_says_so_and_is_cancelled(tmp_path: Path, queue: Queue) -> None:
    job = queue.submit(tmp_path)
    queue.says("waits")
    state = job_handle.job_state(job)
    assert (state["state"], state["ended"]) == ("queued", None)
    assert "waits (" in state["message"]
    job_handle.stop_job(job, 0)
    assert queue.sent() != []


def test_a_running_job_is_asked_to_end(tmp_path: Path, queue: Queue) -> None:
    job = queue.submit(tmp_path)
    queue.says("runs")
    job_handle.stop_job(job, 0)
    assert len(queue.sent()) == 1


def test_a_scheduler_that_does_not_answer_ends_no_job(tmp_path: Path, queue: Queue) -> None:
    job = queue.submit(tmp_path)
    queue.says(None)
    state = job_handle.job_state(job)
    assert state["ended"] is None
    assert state["notes"] == [f"{SCHEDULERS[queue.scheduler].name} does not answer."]


def assert_that_it_ends(directory: Path, queue: Queue, phase: str, end: str) -> None:
    job = queue.submit(directory)
    queue.says(phase)
    assert job_handle.job_state(job)["state"] == end
    assert not (directory / "model" / client.JOBS).exists()
    assert job_handle.last_job(str(directory / "model")) is not None


def test_a_job_that_nobody_knows_has_failed(tmp_path: Path, queue: Queue) -> None:
    assert_that_it_ends(tmp_path, queue, "ended", "failed")


@pytest.mark.parametrize("queue", WITH_QUEUES, indirect=True)
def test_a_cancelled_job_has_stopped(tmp_path: Path, queue: Queue) -> None:
    assert_that_it_ends(tmp_path, queue, "cancelled", "stopped")


def test_a_job_of_an_unknown_scheduler_is_an_error(tmp_path: Path) -> None:
    values = {"id": "x", "scheduler": "other", "key": "1"}
    (tmp_path / SUBMISSION_FILE).write_text(json.dumps(values))
    with pytest.raises(TrainingError, match=r"`scheduler` must be one of .*, not 'other'"):
        job_files.read(str(tmp_path), SUBMISSION_FILE)


@pytest.mark.jobs
def test_a_job_trains_on_the_hosts_that_its_scheduler_allocates(mark: Path) -> None:
    job = fake_scheduler.submit(mark)
    state = result(job, 60)
    assert state["state"] == "done", state["failure"]
    assert [each["host"] for each in state["tasks"]] == ["fake0", "fake1"]
    assert (state["scheduler"], state["key"]) == ("fake", job["key"])
    assert soon(lambda: not marked(mark), 12), marked(mark)


@pytest.mark.jobs
def test_a_job_goes_on_in_its_next_start_when_its_time_is_up(
    mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_FRESH_S", 0.5)
    saves = (("train", 5), ("save_on_interrupt", 5), ("sleep", 100))
    goes_on = (("train", 8, 6), ("finish", 8))
    acts = {
        "chief-0@0": saves,
        "worker-0@0": (("train", 5), ("sleep", 100)),
        "chief-0@1": goes_on,
        "worker-0@1": goes_on,
    }
    job = fake_scheduler.submit(mark, acts)
    state_when(job, lambda state: [each["step"] for each in state["tasks"]] == [5, 5], 40)
    assert SCHEDULERS["fake"].signal(job["key"], "USR1")
    state = result(job, 60)
    assert (state["state"], state["global_step"]) == ("done", 8), state["failure"]
    assert any("The time limit is near" in note for note in state["notes"])
    assert soon(lambda: not marked(mark), 12), marked(mark)
