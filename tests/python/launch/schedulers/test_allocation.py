"""What a supervisor in Slurm does when its time ends, without Slurm."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import fake_job

from tfdistribute.cluster.spec import Task
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.processes import StopRequests
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_files import PROGRESS_FILE, STATE_FILE
from tfdistribute.launch.schedulers.scheduler import Start
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster
from tfdistribute.launch.schedulers.slurm.scheduler import SlurmScheduler
from tfdistribute.launch.schedulers.supervisor import ScheduledAllocation
from tfdistribute.launch.setup import SAVE_S
from tfdistribute.launch.state import JobState, Progress
from tfdistribute.launch.task_view import TaskView


@pytest.fixture
def job(tmp_path: Path):
    made = fake_job(tmp_path, {})
    yield made
    private_directory.remove(made.directory)


def allocation(job: Job, starts_before: int = 0, **fields: Any) -> ScheduledAllocation:
    cluster = SlurmCluster(**{"nodes": 2, "workers": 2, **fields})
    return ScheduledAllocation(job, "slurm", Start(cluster, "7", starts_before))


def stopped_by(number: int) -> StopRequests:
    stops = StopRequests()
    stops.first, stops.count = number, 1
    return stops


def test_a_job_queues_again_when_its_time_is_up_unless_the_user_does_not_want_it(
    job: Job, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(SlurmScheduler, "is_restarted", lambda *_: False)
    time_is_up = stopped_by(signal.SIGUSR1)
    assert allocation(job).reason_to_restart(time_is_up) == (
        "The time limit is near, so the job queues again."
    )
    once = allocation(job, requeue=False)
    assert once.reason_to_restart(time_is_up) is None
    assert once.why_stopped(time_is_up) == "The time limit is near, and `requeue` is FALSE."


@pytest.mark.parametrize("is_requeued", [False, True])
def test_slurm_is_asked_whether_a_job_that_it_ends_queues_again(
    job: Job, monkeypatch: pytest.MonkeyPatch, is_requeued: bool
):
    monkeypatch.setattr(SlurmScheduler, "is_restarted", lambda *_: is_requeued)
    ended = allocation(job)
    assert (ended.reason_to_restart(stopped_by(signal.SIGTERM)) is not None) is is_requeued
    assert ended.why_stopped(stopped_by(signal.SIGTERM)) == "The job was stopped."


def test_a_large_model_has_half_of_the_time_before_the_limit_to_be_saved(job: Job):
    made = allocation(job, stop_signal_s=600)
    assert made.save_s(stopped_by(signal.SIGUSR1)) == 300
    # Slurm kills what does not end soon after scancel.
    assert made.save_s(stopped_by(signal.SIGTERM)) == SAVE_S


def test_a_job_goes_elsewhere_only_from_a_node_that_was_lost_after_a_checkpoint(job: Job):
    view = TaskView(Task("worker", 0), "n2")
    progress = Progress()
    made = allocation(job)
    made.resume(JobState(job), progress)
    assert made.reason_to_move(view, progress) is None
    view.loss = "nothing was heard of it for 5 seconds"
    # Otherwise it would queue again forever.
    assert made.reason_to_move(view, progress) is None
    progress.checkpoint = 5
    assert made.reason_to_move(view, progress) == (
        "The node n2 was lost (nothing was heard of it for 5 seconds), so the job queues again."
    )
    made.resume(JobState(job), progress)
    assert made.reason_to_move(view, progress) is None


def test_a_start_takes_over_the_history_and_the_restarts_of_the_one_before(job: Job):
    before = Progress()
    for step in (10, 20):
        row = {"step": step, "loss": 1 / step, "seconds": step / 10, "examples_per_second": 5.0}
        before.take({"event": "record", **row}, is_chief=True)
    before.take({"event": "checkpoint", "time": 1.0, "step": 20}, is_chief=True)
    before.take({"event": "evaluation", "step": 20, "metrics": {"loss": 0.5}}, is_chief=False)
    made = allocation(job)
    made.keep(Progress())
    made.keep(before)
    made.keep(before, at_once=True)
    state = {"id": job.id, "state": "queued", "restarts": 2, "notes": ["a note"], "started": 5.0}
    Path(job.directory, STATE_FILE).write_text(json.dumps(state))

    resumed, progress = JobState(job), Progress()
    allocation(job, starts_before=1).resume(resumed, progress)
    assert (resumed.restarts, resumed.notes, resumed.started) == (2, ["a note"], 5.0)
    assert progress.as_columns() == before.as_columns()
    progress.take(
        {"event": "record", "step": 30, "loss": 0.1, "seconds": 1.0, "examples_per_second": 5.0},
        is_chief=True,
    )
    # Seconds count from the start of each process.
    assert progress.losses.columns()["seconds"] == [1.0, 2.0, 3.0]

    fresh = Progress()
    allocation(job).resume(JobState(job), fresh)
    assert fresh.as_columns()["training"]["step"] == []
    assert Path(job.directory, PROGRESS_FILE).exists()


def test_a_signal_that_the_processes_of_tasks_get_first_counts_once():
    with StopRequests() as stops:
        stops.request(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert (stops.count, stops.first) == (1, signal.SIGTERM)
        stops.request(signal.SIGTERM)
        assert stops.count == 1
        signal.raise_signal(signal.SIGTERM)
        assert stops.count == 2
