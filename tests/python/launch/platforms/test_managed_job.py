"""Jobs on managed platforms whose model directory this machine cannot read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory
from support.platform_jobs import as_handle, kubernetes, platform_job

from tfdistribute.bridge import jobs
from tfdistribute.errors import BackendError
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.platforms import managed_job
from tfdistribute.launch.platforms.platform import PlatformState
from tfdistribute.storage import buckets
from tfdistribute.training import history


@pytest.fixture
def silent_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A bucket whose requests wait until the test ends, and the paths of its requests."""
    ended = threading.Event()
    asked: list[str] = []

    def wait(_bucket: object, path: str) -> Any:
        asked.append(path)
        # As long as pyarrow's client tries again.
        assert ended.wait(30), "The request has no deadline."
        raise OSError(5, "the bucket does not answer", path)

    for name in ("open", "status", "names"):
        monkeypatch.setattr(buckets.Bucket, name, wait)
    yield asked
    ended.set()
    for thread in threading.enumerate():
        if thread.name == "tfdistribute-storage":
            thread.join()
    managed_job._known.clear()
    managed_job._silent_until.clear()


def test_the_state_of_a_job_does_not_wait_for_a_bucket_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent_bucket: list[str]
) -> None:
    state = PlatformState("running", "It runs.")
    platform = SimpleNamespace(state=lambda name: state)
    monkeypatch.setattr(managed_job, "platform_of", lambda cluster: platform)
    monkeypatch.setattr(managed_job, "READ_S", 0.5)
    job = as_handle(platform_job(tmp_path, kubernetes()))
    began = time.monotonic()
    found = managed_job.job_state(job)
    assert (found["state"], found["global_step"]) == ("training", None)
    unread = "not be read from here: it did not end in 0.5 seconds."
    assert found["notes"] == [f'`model_dir` "gs://bucket/model" could {unread}']
    # Another look at a running job does not ask the bucket again.
    managed_job._known.clear()
    assert managed_job.job_state(job)["notes"] == []
    assert len(silent_bucket) == 1
    managed_job._known.clear()
    state = PlatformState("done", "It ended.", ended=1.0)
    found = managed_job.job_state(job)
    assert (found["state"], found["history"], len(found["notes"])) == ("done", None, 1)
    assert time.monotonic() - began < 10


def test_a_history_in_a_bucket_without_an_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch, silent_bucket: list[str]
) -> None:
    monkeypatch.setattr(history, "READ_S", 0.5)
    with pytest.raises(BackendError, match="cannot be read: it did not end in 0.5 s") as error:
        history.read_history("gs://bucket/model")
    assert (error.value.argument, error.value.value) == ("model_dir", "gs://bucket/model")
    assert "Check the connection to its storage" in str(error.value)
    assert silent_bucket


def test_a_manifest_of_a_job_with_data_is_written_without_contacting_storage(
    tmp_path: Path, silent_bucket: list[str]
) -> None:
    directory = private_directory.new_directory()
    task_file = Path(directory, "task.rds")
    task_file.touch()
    model_dir = "gs://bucket/model"
    model = {"kind": "linear_regressor", "feature_columns": [{"kind": "numeric", "key": "x"}]}
    path = tmp_path / "job.json"
    jobs.write_manifest(
        directory,
        str(task_file),
        str(path),
        kubernetes(),
        {**model, "model_dir": model_dir},
        {"data-1": in_memory({"x": np.arange(4.0), "y": np.arange(4.0)})},
        verb="train",
        command=["true"],
        working_directory="/",
        model_dir=model_dir,
    )
    assert path.stat().st_size > 0
    assert silent_bucket == []
