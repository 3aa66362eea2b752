"""Jobs whose supervisor is an actor of Ray, from outside, with a Ray that answers what the test says."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import command
from support.ray_jobs import submit

from tfdistribute.errors import ClusterError
from tfdistribute.launch import job_handle
from tfdistribute.launch.detached import client, ray
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.state import STATE_FILE


class FakeRay:
    """Answers of Ray by the method that is called; an error is raised, and a function called."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {"start_supervisor": None, "send_signal": True, **answers}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, _: Any, __: int, method: str, **arguments: Any) -> Any:
        self.asked.append((method, arguments))
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer(**arguments) if callable(answer) else answer


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    made = FakeRay()
    monkeypatch.setattr(ray, "_call", made)
    monkeypatch.setattr(client, "_answers", {})
    monkeypatch.setattr(client, "_FRESH_S", 0.0)
    return made


def submitted(tmp_path: Path) -> dict[str, Any]:
    return submit(tmp_path, "head:6379", command=command({}))


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
    fake.answers["start_supervisor"] = said
    with pytest.raises(ClusterError, match=problem):
        submitted(tmp_path)
    assert not (tmp_path / "model" / client.JOBS).exists()


def test_a_job_that_ends_at_once_has_a_handle(tmp_path: Path, fake: FakeRay):
    def end(directory: str, **_: Any) -> str:
        private_directory.remove(directory)
        return "found another job"

    fake.answers["start_supervisor"] = end
    assert submitted(tmp_path)["ray_id"].endswith("@head:6379")


def test_a_job_is_found_by_its_model_dir_and_stopped_through_ray(tmp_path: Path, fake: FakeRay):
    job = submitted(tmp_path)
    assert job_handle.find_job(str(tmp_path / "model")) == job
    job_handle.stop_job(job, 0)
    name = f"tfdistribute-{job['id']}"
    assert ("send_signal", {"name": name, "number": int(signal.SIGTERM)}) in fake.asked


def test_a_job_is_over_when_its_actor_is_gone_or_ray_for_a_minute(tmp_path: Path, fake: FakeRay):
    fake.answers["send_signal"] = False
    state = job_handle.job_state(submitted(tmp_path))
    assert (state["state"], state["failure"]["kind"]) == ("failed", "training")
    assert "of Ray ended (DEAD) before" in state["message"]
    fake.answers["send_signal"] = ClusterError("No Ray cluster answers.")
    job = submitted(tmp_path)
    path = Path(job["directory"], STATE_FILE)
    path.write_text('{"state": "training", "notes": [], "tasks": [], "ended": null}')
    state = job_handle.job_state(job)
    assert (state["ended"], state["notes"]) == (None, ["Ray does not answer."])
    with pytest.raises(ClusterError, match=r"No Ray cluster answers\."):
        job_handle.stop_job(job)
    os.utime(path.parent, (1, 1))
    assert "of Ray ended (LOST) before" in job_handle.job_state(job)["message"]
    assert not (tmp_path / "model" / client.JOBS).exists()


def test_a_client_of_ray_that_ends_without_an_answer_is_named(monkeypatch: pytest.MonkeyPatch):
    code = "import sys; sys.exit('out of memory')"
    monkeypatch.setattr(ray, "DRIVER", (sys.executable, "-c", code))
    with pytest.raises(ClusterError, match='Ray at "head:1" ended: out of memory') as caught:
        ray._send_signal("job@head:1", 0)
    assert caught.value.argument == "address"
