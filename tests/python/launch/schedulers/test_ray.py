"""Jobs whose supervisor is an actor of Ray, from outside, with a Ray that answers what the test says."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.fake_ray import FakeRay
from support.job_fakes import command
from support.ray_jobs import submit

from tfdistribute.errors import ClusterError, ModelDirectoryError
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job_files import STATE_FILE
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.schedulers.ray import scheduler as ray
from tfdistribute.launch.state import result_of, write_result


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    return FakeRay.installed(monkeypatch)


def submitted(tmp_path: Path, address: str = "head:6379", **fields: Any) -> dict[str, Any]:
    return submit(tmp_path, address, command=command({}), **fields)


def write_state(job: dict[str, Any]) -> Path:
    path = Path(job["directory"], STATE_FILE)
    path.write_text(json.dumps({"id": job["id"], "state": "training"}))
    return path


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("found no directory", r'The head node of Ray does not see ".*/\.jobs/'),
        ("found tfdistribute none\n", r"The head node of Ray does not have tfdistribute"),
        ("found tfdistribute 0.0.1\n", r"The head node of Ray has tfdistribute 0\.0\.1"),
        ("Traceback\nOSError: no.\n", r"The head node of Ray cannot start .*: OSError: no\."),
    ],
)
def test_a_head_node_that_cannot_supervise_is_named_and_nothing_is_left(
    tmp_path: Path, fake: FakeRay, said: str, problem: str
):
    fake.answers["start_supervisor"] = (said, "head:6379")
    with pytest.raises(ClusterError, match=problem):
        submitted(tmp_path)
    assert not (tmp_path / "model" / client.JOBS).exists()


def test_a_job_that_ends_at_once_has_a_handle(tmp_path: Path, fake: FakeRay):
    def end(directory: str, **_: Any) -> tuple[str, str]:
        private_directory.remove(directory)
        return "found another job", "head:6379"

    fake.answers["start_supervisor"] = end
    assert submitted(tmp_path)["key"].endswith("@head:6379")


def test_a_job_is_found_by_its_model_dir_and_stopped_through_ray(tmp_path: Path, fake: FakeRay):
    job = submitted(tmp_path)
    assert job_handle.find_job(str(tmp_path / "model")) == job
    job_handle.stop_job(job, 0)
    name = f"tfdistribute-{job['id']}"
    assert ("send_signal", {"name": name, "number": int(signal.SIGTERM)}) in fake.asked


@pytest.mark.parametrize(
    ("address", "kept"), [("auto", "head:6379"), ("ray://gateway:10001", "ray://gateway:10001")]
)
def test_another_machine_asks_the_cluster_of_the_job(
    tmp_path: Path, fake: FakeRay, address: str, kept: str
):
    assert submitted(tmp_path, address)["key"].partition("@")[2] == kept


def test_a_job_is_over_when_its_actor_is_gone(tmp_path: Path, fake: FakeRay):
    fake.answers["send_signal"] = False
    state = job_handle.job_state(submitted(tmp_path))
    assert (state["state"], state["failure"]["kind"]) == ("failed", "training")
    assert "of Ray ended (DEAD) before" in state["message"]
    assert not (tmp_path / "model" / client.JOBS).exists()


def test_a_job_about_which_ray_does_not_answer_is_left_alone(tmp_path: Path, fake: FakeRay):
    job = submitted(tmp_path)
    path = write_state(job)
    fake.answers["send_signal"] = ClusterError("No Ray cluster answers.")
    for each in (path, path.parent):
        os.utime(each, (1, 1))
    state = job_handle.job_state(job)
    assert (state["state"], state["ended"]) == ("training", None)
    assert state["notes"] == ["Ray does not answer."]
    assert path.exists()
    assert result_of(job) is None
    with pytest.raises(ClusterError, match=r"No Ray cluster answers\."):
        job_handle.stop_job(job)
    with pytest.raises(ModelDirectoryError, match=r"in use: Job .* of Ray") as caught:
        submitted(tmp_path)
    assert f'so is the job: remove "{job["directory"]}"' in (caught.value.remedy or "")


def test_a_job_that_is_being_submitted_is_found_and_left_alone(tmp_path: Path, fake: FakeRay):
    def look(directory: str, **_: Any) -> tuple[None, str]:
        found.append(job_handle.find_job(str(tmp_path / "model")))
        return None, "head:6379"

    found: list[Any] = []
    fake.answers.update(start_supervisor=look, send_signal=False)
    job = submitted(tmp_path)
    assert found[0]["id"] == job["id"]
    assert Path(job["directory"]).exists()


def test_a_result_that_is_seen_late_is_the_end_of_a_job(tmp_path: Path, fake: FakeRay):
    job = submitted(tmp_path)
    private_directory.remove(job["directory"])
    fake.answers["send_signal"] = False
    late = threading.Timer(
        0.4, write_result, ({**job, "state": "done", "ended": 1.0}, [job["logs"]])
    )
    late.start()
    assert job_handle.job_state(job)["state"] == "done"
    late.join()


def test_a_job_that_has_ended_is_stopped_without_its_cluster(tmp_path: Path, fake: FakeRay):
    job = submitted(tmp_path)
    write_result({**job, "state": "done", "ended": 1.0}, [job["logs"]])
    fake.answers["send_signal"] = ClusterError("No Ray cluster answers.")
    assert job_handle.stop_job(job)["state"] == "done"


def test_a_slow_ray_is_asked_once_to_end_a_job(tmp_path: Path, fake: FakeRay):
    def answer(number: int, **_: Any) -> bool:
        numbers.append(number)
        if number == 0:
            raise ClusterError("It did not answer.")
        return True

    numbers: list[int] = []
    fake.answers["send_signal"] = answer
    job_handle.stop_job(submitted(tmp_path), 0)
    assert [number for number in numbers if number] == [signal.SIGTERM]


def test_a_job_is_killed_long_after_the_second_request_and_then_is_stopped(
    tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch
):
    def answer(number: int, **_: Any) -> bool:
        if number:
            sent.append((number, time.monotonic()))
        return signal.SIGKILL not in dict(sent)

    sent: list[tuple[int, float]] = []
    monkeypatch.setattr(client, "_END_S", 1.5)
    fake.answers["send_signal"] = answer
    job = submitted(tmp_path)
    write_state(job)
    state = job_handle.stop_job(job, 0.3)
    assert [number for number, _ in sent] == [signal.SIGTERM, signal.SIGTERM, signal.SIGKILL]
    assert sent[2][1] - sent[1][1] > 1
    assert (state["state"], state["failure"]) == ("stopped", None)
    assert job_handle.job_state(job)["state"] == "stopped"


def test_a_client_of_ray_that_ends_without_an_answer_is_named(monkeypatch: pytest.MonkeyPatch):
    code = "import sys; sys.exit('out of memory')"
    monkeypatch.setattr(ray, "DRIVER", (sys.executable, "-c", code))
    with pytest.raises(ClusterError, match='Ray at "head:1" ended: out of memory') as caught:
        ray._send_signal("job@head:1", 0)
    assert caught.value.argument == "address"
