"""Jobs of several processes with a model directory in a bucket."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support import cluster_task, job_fakes
from support.buckets import SECRET, Store
from support.checkpoints import assert_alike, assert_identical, variables
from support.fault_jobs import fault_job
from support.gcs_store import BUCKET, REFUSED
from support.job_fakes import row
from support.sampling import sampled

from tfdistribute import storage
from tfdistribute.bridge import jobs
from tfdistribute.errors import BackendError, ModelDirectoryError, TfdistributeError
from tfdistribute.history_file import LOSSES, read_losses
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job_handle import find_job
from tfdistribute.launch.start import start_supervisor
from tfdistribute.plan import Workload
from tfdistribute.training.remote import lease

pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]


def refusal(model_dir: str) -> TfdistributeError:
    """The error of R's first call for a job."""
    with pytest.raises(TfdistributeError) as caught:
        config = {"cluster": {"kind": "local", "workers": 2}}
        columns = [{"kind": "numeric", "key": "x"}]
        model = {"kind": "linear_regressor", "model_dir": model_dir, "feature_columns": columns}
        jobs.prepare_verb({**model, "config": config}, "train", Workload(model_dir))
    assert list(private_directory.own_directories()) == []
    return caught.value


@sampled(
    ("served", "killed"),
    [("gs", "worker 0"), ("s3", "chief 0"), ("az", "chief 0")],
    check=[("s3", "chief 0")],
    indirect=["served"],
    scope="module",
)
def test_a_killed_task_is_healed_in_a_bucket_that_no_other_job_may_use(
    bucket: Store, killed: str, tmp_path: Path
) -> None:
    model = f"{bucket.root}/job"
    config = {"strategy": {"kind": "multi_worker"}}
    options = {"max_steps": 20, "config": config, "remote": model, "stops": ["chief-0 step-14"]}
    with fault_job(tmp_path / "job", options, model_dir=model, evaluator=True, max_steps=20) as job:
        job.await_stop(0)
        # Checkpoints are uploaded in the background, and the name of the newest last.
        job.await_state(
            lambda _: (
                "job/checkpoint" in bucket.names("job/")
                and b"model.ckpt-10" in bucket.read("job/checkpoint").splitlines()[0]
            )
        )
        owner = json.loads(bucket.read(f"job/{lease.NAME}"))
        assert owner["job"] == Path(job.handle["directory"]).name
        found = find_job(f"{model}/")
        assert found is not None
        assert found["id"] == job.handle["id"]
        with pytest.raises(ModelDirectoryError, match=f"another training: .*pid {chief_of(job)}"):
            lease.check_free(model)
        assert_no_secret(bucket, tmp_path, Path(tempfile.gettempdir()))
        job.kill(killed)
        job.go_on(0)
        state = job.end()
    assert_healed(state, model)
    left = {name.split("/")[1] for name in bucket.names("job/")}
    assert lease.NAME not in left
    assert LOSSES in left
    assert_logs_are_in_the_bucket(job, bucket, tmp_path)
    assert_no_secret(bucket, tmp_path, Path(tempfile.gettempdir()))
    cluster_task.train(tmp_path / "alone", "custom", {"max_steps": 20})
    assert_alike(variables(model), variables(tmp_path / "alone" / "custom" / "model"))


@pytest.mark.full
def test_workers_grow_the_trees_of_one_process_into_a_bucket(bucket: Store, tmp_path: Path) -> None:
    pytest.importorskip("ydf")
    model, options = f"{bucket.root}/trees", cluster_task.TRAININGS["trees"]
    with fault_job(tmp_path / "job", {**options, "remote": model}, model_dir=model) as job:
        state = job.end()
    assert state["state"] == "done", job.logs()
    cluster_task.train(tmp_path / "alone", "trees", options)
    assert_identical(variables(model), variables(tmp_path / "alone" / "trees" / "model"))
    assert not [name for name in bucket.names("trees/") if "tmp_" in name]


def test_workers_train_chosen_layers_into_a_bucket(bucket: Store, tmp_path: Path) -> None:
    model, options = f"{bucket.root}/layers", cluster_task.TRAININGS["chosen"]
    options = {**options, "remote": model, "config": {"strategy": {"kind": "multi_worker"}}}
    with fault_job(tmp_path / "job", options, model_dir=model) as job:
        state = job.end()
    assert state["state"] == "done", job.logs()
    assert row(state, "worker 0")["step"] == state["global_step"] == 256
    assert variables(model)["global_step"] == 256
    assert not [name for name in bucket.names("layers/") if "tfdistribute-layers" in name]


def assert_healed(state: dict[str, Any], model: str) -> None:
    assert (state["state"], state["global_step"], state["restarts"]) == ("done", 20, 1)
    # From 14 back to the checkpoint of step 10, or from 15 if the killed worker had written its part of that step.
    assert state["steps_lost"] in (4, 5)
    assert state["evaluations"][-1]["global_step"] == 20
    assert read_losses(model).columns()["step"][-1] == 20
    assert state["history"]["training"]["step"][-1] == 20


def assert_no_secret(store: Store, *directories: Path) -> None:
    files = [path for each in directories for path in each.rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in files]
    texts += [store.read(name) for name in store.names()]
    assert len(texts) > 5
    assert not [text for text in texts if SECRET.encode() in text]


def assert_logs_are_in_the_bucket(job: Any, bucket: Store, directory: Path) -> None:
    assert bucket.names("job/logs/") == [
        f"job/logs/{name}"
        for name in ("chief-0.log", "evaluator-0.log", "result.json", "worker-0.log")
    ]
    lines = job_handle.job_logs(job.handle, "worker 0")
    assert [line for line in lines if line.startswith("--- worker 0 starts at")][1].endswith(
        "(start 2) ---"
    )
    # Another session finds the job by its directory.
    model = str(job.handle["model_dir"])
    found = job_handle.last_job(model)
    assert found is not None
    assert found["logs"] == f"{model}/logs"
    assert job_handle.job_state(found) == job.state
    assert job_handle.job_logs(found, "worker 0") == lines
    assert (
        list(directory.rglob(f"{bucket.scheme}:"))
        == list(directory.rglob("tfdistribute-logs"))
        == []
    )


@pytest.mark.full
def test_logs_follow_those_of_an_earlier_job_in_a_bucket(bucket: Store, tmp_path: Path) -> None:
    model = f"gs://{BUCKET}/fake"
    acts = {"chief": [("train", 2), ("print", "INFO: first"), ("finish", 2)]}
    first = job_fakes.run_job(tmp_path, acts, model_dir=model)
    assert first["logs"] == f"{model}/logs"
    acts = {"chief": [("print", "WARNING: second"), ("fail", "No data.")]}
    job = start_supervisor(job_fakes.fake_job(tmp_path, acts, model_dir=model))
    while not (news := job_handle.job_news(job, level="info"))["lines"]:
        assert not news["ended"]
    seen = news["position"]
    second = job_fakes.result(job, 40)
    assert second["failure"]["problem"] == "No data."
    assert "WARNING: second" in job_handle.job_logs(job, "chief 0")
    assert "INFO: first" not in job_handle.job_logs(job, "chief 0")
    # What was read while the job ran is not read again.
    news = job_handle.job_news(job, seen, "info")
    assert not any("starts at" in line for line in news["lines"] if "chief 0" in line)
    with storage.open_own(f"{model}/logs/chief-0.log") as file:
        text = file.read().decode()
    assert text.index("INFO: first") < text.index("WARNING: second")
    assert not (tmp_path / "tfdistribute-logs").exists()


def test_logs_that_cannot_be_copied_stay_and_the_job_says_where(tmp_path: Path) -> None:
    # Nothing reads this scheme.
    state = job_fakes.run_job(tmp_path, {}, model_dir="moon://bucket/model")
    assert state["state"] == "done"
    (note,) = [each for each in state["notes"] if "could not be copied" in each]
    assert '"moon", which nothing installed reads' in note
    assert note.endswith(f'They are in "{state["logs"]}".')
    assert Path(state["tasks"][0]["log"]).is_file()


def chief_of(job: Any) -> int:
    return job.row("chief 0")["pid"]


def test_a_job_that_cannot_use_its_bucket_is_refused_before_a_process_starts(
    bucket: Store,
) -> None:
    assert 'cannot be written: The bucket "missing"' in refusal("gs://missing/m").problem
    assert isinstance(refusal(f"gs://{REFUSED}/m"), ModelDirectoryError)
    assert isinstance(refusal("moon://bucket/m"), BackendError)
    running = lease.Lease(f"gs://{BUCKET}/taken", "first")
    with running.hold():
        assert "is in use by another training" in refusal(f"gs://{BUCKET}/taken").problem
