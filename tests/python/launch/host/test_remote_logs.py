"""Logs that move to remote storage at the end of a job."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.job_fakes import fake_job

from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.remote_logs import move_logs
from tfdistribute.storage import buckets


@pytest.mark.usefixtures("own_temporary_directory")
def test_a_copy_that_the_user_stops_is_not_said_to_be_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    answer = threading.Event()
    monkeypatch.setattr(buckets.Bucket, "write", lambda *_: answer.wait(60))
    job = fake_job(tmp_path, {}, model_dir="gs://bucket/model")
    logs = tmp_path / "logs"
    logs.mkdir()
    (note,) = move_logs(job, str(logs), {"notes": [], "tasks": []}, lambda: True)["notes"]
    answer.set()
    assert "(it was stopped)" in note
    assert logs.exists()
    private_directory.remove(job.directory)
