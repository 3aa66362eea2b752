"""The actor of a supervisor, with a Ray that answers what the test says."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.remote_hosts import soon

from tfdistribute.launch.frameworks import ray_supervisor
from tfdistribute.launch.frameworks.ray_supervisor import NOT_SEEN, RaySupervisors, SupervisorActor


class ActorDiedError(Exception): ...


class ActorUnavailableError(Exception): ...


class FakeRay:
    """A Ray with one actor, whose calls all have one answer."""

    cloudpickle = SimpleNamespace(register_pickle_by_value=lambda _: None)
    exceptions = SimpleNamespace(ActorDiedError=ActorDiedError, RayActorError=Exception)

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.killed: list[Any] = []
        call = SimpleNamespace(remote=lambda *_, **__: None)
        self.actor = SimpleNamespace(start=call, send_signal=call)

    def remote(self, **_: Any) -> Any:
        return lambda _: self

    def options(self, **_: Any) -> Any:
        return SimpleNamespace(remote=lambda: self.actor)

    def get_actor(self, *_: Any, **__: Any) -> Any:
        return self.actor

    def get(self, *_: Any, **__: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


def framework_of(fake: FakeRay) -> RaySupervisors:
    framework = RaySupervisors({"address": "head:6379"}, 0)
    framework._ray = fake
    return framework


@pytest.mark.parametrize(("said", "count"), [(NOT_SEEN, 1), (None, 0)])
def test_an_actor_without_a_supervisor_is_not_left(said: str | None, count: int):
    fake = FakeRay((said, "head:6379"))
    assert framework_of(fake).start_supervisor("job") == (said, "head:6379")
    assert len(fake.killed) == count


def test_an_actor_that_cannot_be_reached_for_a_while_is_not_gone():
    assert framework_of(FakeRay(ActorDiedError())).send_signal("job", 0) is False
    with pytest.raises(ActorUnavailableError):
        framework_of(FakeRay(ActorUnavailableError())).send_signal("job", 0)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    codes: list[int] = []
    context = SimpleNamespace(gcs_address="head:6379")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: context))
    monkeypatch.setattr(ray_supervisor, "_UNUSED_S", 0.2)
    monkeypatch.setattr(os, "_exit", codes.append)
    return codes


def test_an_actor_that_nobody_uses_ends(tmp_path: Path, ends: list[int]):
    used = SupervisorActor()
    assert used.start((), "", str(tmp_path / "none"), "") == (NOT_SEEN, "head:6379")
    assert not soon(lambda: ends, 0.5)
    SupervisorActor()
    assert soon(lambda: ends, 2)


def test_the_output_of_a_supervisor_does_not_follow_a_link(tmp_path: Path, ends: list[int]):
    other, output = tmp_path / "other", tmp_path / "ray-1.out"
    other.write_text("kept")
    output.symlink_to(other)
    with pytest.raises(FileExistsError):
        SupervisorActor().start(("-c", "print(1)"), "", str(tmp_path), str(output))
    assert other.read_text() == "kept"
