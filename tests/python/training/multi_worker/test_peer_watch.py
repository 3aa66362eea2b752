"""Liveness of the other tasks during a training, with fake servers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.fake_peers import FakeServers, fake_servers

from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task, silence_s
from tfdistribute.errors import InputError, LostPeerError, ModelDirectoryError, TrainingError
from tfdistribute.training.multi_worker import peer_watch, peers
from tfdistribute.training.multi_worker.handshake import Handshake
from tfdistribute.training.multi_worker.peer_watch import PeerWatch, translate_losses
from tfdistribute.training.multi_worker.peers import FACTS, Peers
from tfdistribute.training.multi_worker.resume import ProgressFile

CLUSTER = {"chief": ("a:1",), "worker": ("b:1",)}
CHIEF, WORKER = Member(CLUSTER, Task("chief")), Member(CLUSTER, Task("worker"))


@pytest.fixture
def servers(tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServers]:
    del tensorflow
    monkeypatch.setattr(peer_watch, "_CONFIRM_S", 0.3)
    monkeypatch.setattr(peer_watch, "_PAUSE_S", 0.01)
    yield fake_servers(monkeypatch)


def watch_of(
    peers: Peers,
    model_dir: Path,
    start_timeout_s: float = 60,
    stall_timeout_s: float = 300,
    last_step: int | None = None,
) -> PeerWatch:
    handshake = Handshake(peers, str(model_dir), start_timeout_s)
    handshake.conclude = lambda variables: None
    return PeerWatch(handshake, stall_timeout_s, last_step)


def test_a_task_is_lost_after_a_tenth_of_the_stall_timeout() -> None:
    assert [silence_s(each) for each in (10, 30, 300, 600)] == [10, 30, 30, 60]


def test_a_frozen_task_is_named(servers: FakeServers, tmp_path: Path) -> None:
    watch = watch_of(servers.peers(CHIEF), tmp_path, stall_timeout_s=0.5)
    watch.after_step(7)
    assert not watch.is_lost()
    servers.frozen.add("b:1")
    servers.answer_s = 0.2
    began = time.monotonic()
    while not watch.is_lost():
        assert time.monotonic() - began < 10
    assert isinstance(watch.verdict, LostPeerError)
    assert watch.verdict.problem.startswith(
        "chief 0 lost worker 0 (b:1) after step 7: it has given no sign of life for"
    )
    assert watch.verdict.value == "worker 0 (b:1)"


def test_a_task_whose_host_refuses_connections_is_named_at_once(
    servers: FakeServers, tmp_path: Path
) -> None:
    for last_step, is_lost in ((8, False), (9, True), (None, True)):
        watch = watch_of(servers.peers(CHIEF), tmp_path, last_step=last_step)
        watch.after_step(7)
        servers.away.clear()
        assert not watch.is_lost()
        servers.away.add("b:1")
        assert not watch.is_lost()
        # In its last step, a task may be the last one there.
        assert watch.is_lost() == is_lost
    assert str(watch.verdict).startswith(
        "chief 0 lost worker 0 (b:1) after step 7: it no longer answers."
    )


def test_a_task_that_ends_while_it_is_asked_is_not_waited_for(
    servers: FakeServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_LOOK_S", 0.01)
    errors = iter([None])
    refused = ConnectionRefusedError()
    monkeypatch.setattr(peers, "connection_error", lambda address: next(errors, refused))
    # Its connection is accepted, and then nothing answers.
    servers.frozen.add("b:1")
    servers.answer_s = 3
    asked = servers.peers(CHIEF)
    assert asked.unanswering(CHIEF.needed) == [(Task("worker"), "b:1")]
    assert asked.has_ended(Task("worker"))


def test_a_chief_that_has_ended_as_it_should_is_not_lost(
    servers: FakeServers, tmp_path: Path
) -> None:
    file = ProgressFile(str(tmp_path), CHIEF)
    watch = watch_of(servers.peers(WORKER), tmp_path)
    watch.after_step(7)
    servers.away.add("a:1")
    record = file.start(0)
    file.finish(record, 8)
    assert not any(watch.is_lost() for _ in range(5))
    file.start(8)
    assert watch.is_lost()


def test_a_restart_with_other_workers_is_recognized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Member({"chief": ("a:1",)}, Task("chief"))
    for attempt, expected in (("0", False), ("1", True)):
        monkeypatch.setenv("TFDISTRIBUTE_JOB", "/job")
        monkeypatch.setenv("TFDISTRIBUTE_ATTEMPT", attempt)
        ProgressFile(str(tmp_path), CHIEF).start(0)
        assert not ProgressFile(str(tmp_path), CHIEF).has_other_workers
        assert ProgressFile(str(tmp_path), one).has_other_workers == expected


def test_a_server_that_freezes_during_the_last_checkpoint_is_named(
    servers: FakeServers, tmp_path: Path
) -> None:
    member = Member({**CLUSTER, "ps": ("c:1",)}, Task("chief"))
    watch = watch_of(servers.peers(member), tmp_path, stall_timeout_s=0.5, last_step=7)
    watch.after_step(7)
    assert not watch.is_lost()
    servers.frozen.add("c:1")
    servers.answer_s = 0.2
    began = time.monotonic()
    while not watch.is_lost():
        assert time.monotonic() - began < 10
    assert "chief 0 lost ps 0 (c:1) after step 7" in str(watch.verdict)


def test_a_chief_whose_model_dir_another_job_has_taken_ends(
    servers: FakeServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its supervisor would restart a lost task; this one must not write any more.
    monkeypatch.setenv("TFDISTRIBUTE_EVENTS", str(tmp_path / "events"))
    watch = watch_of(servers.peers(Member({**CLUSTER, "ps": ("c:1",)}, Task("chief"))), tmp_path)
    assert not watch.is_lost()
    watch.lease = SimpleNamespace(loss=lambda: ModelDirectoryError("Another job has it."))
    assert watch.is_lost()
    assert str(watch.verdict) == "Another job has it."


def test_a_suspended_task_does_not_accuse_the_others(
    servers: FakeServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = servers.peers(CHIEF)
    assert asked.silent(CHIEF.needed) == {Task("worker"): 0}
    servers.frozen.add("b:1")
    now = time.monotonic() + 3600
    monkeypatch.setattr(time, "monotonic", lambda: now)
    # It was not asked for an hour; ten seconds are the most that one question may take.
    assert asked.silent(CHIEF.needed)[Task("worker")] <= 10


def test_every_task_learns_what_the_chief_has_found(servers: FakeServers, tmp_path: Path) -> None:
    chief, worker = servers.peers(CHIEF), servers.peers(WORKER)
    worker.publish(FACTS, "{}")
    watch = watch_of(worker, tmp_path)
    watch.after_step(7)
    assert not watch.is_lost()
    chief.tell(LostPeerError("chief 0 lost worker 1 (c:1)."))
    assert watch.is_lost()
    assert "has ended: chief 0 lost worker 1 (c:1)." in str(watch.verdict)
    with pytest.raises(LostPeerError, match="worker 1"):
        watch.before_session()


def test_a_step_that_takes_too_long_is_an_error_though_all_tasks_answer(
    servers: FakeServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, passed_s = time.monotonic, 0.0
    monkeypatch.setattr(time, "monotonic", lambda: clock() + passed_s)
    watch = watch_of(servers.peers(CHIEF), tmp_path, stall_timeout_s=20, last_step=9)
    watch.after_step(7)
    assert not watch.is_lost()
    passed_s = 30.0
    assert watch.is_lost()
    assert watch.verdict is not None
    assert re.search(
        r"made no step for 3\d seconds after step 7, though all tasks answer", str(watch.verdict)
    )
    assert watch.verdict.argument == "stall_timeout_s"
    # After the last step, a hook of the user may take its time.
    watch.after_step(9)
    passed_s = 60.0
    assert not watch.is_lost()


@pytest.mark.parametrize(
    ("name", "is_gone"), [("DeadlineExceededError", True), ("DeadlineExceededError", False)]
)
def test_a_deadline_of_tensorflow_becomes_the_loss_of_a_task(
    servers: FakeServers, tensorflow: Any, tmp_path: Path, name: str, is_gone: bool
) -> None:
    watch = watch_of(servers.peers(CHIEF), tmp_path)
    watch.after_step(7)
    if is_gone:
        servers.frozen.add("b:1")
    problem = "chief 0 lost " + ("worker 0 (b:1)" if is_gone else "its connection")
    with pytest.raises(LostPeerError) as caught, translate_losses(watch):
        raise getattr(tensorflow.errors, name)(None, None, "From /job:chief/replica:0/task:0:\n...")
    assert caught.value.problem.startswith(problem)


def test_other_errors_of_tensorflow_are_not_about_a_task(
    servers: FakeServers, tensorflow: Any, tmp_path: Path
) -> None:
    watch = watch_of(servers.peers(CHIEF), tmp_path)
    with pytest.raises(tensorflow.errors.InvalidArgumentError), translate_losses(watch):
        raise tensorflow.errors.InvalidArgumentError(None, None, "indices[0] = 4")


def test_sessions_without_a_step_between_them_end_in_an_error(
    servers: FakeServers, tmp_path: Path
) -> None:
    # All peers respond but no step follows: TensorFlow would create sessions forever.
    watch = watch_of(servers.peers(CHIEF), tmp_path, start_timeout_s=0.5)
    with pytest.raises(LostPeerError, match=r"lost its connection .* before its first step"):
        for _ in range(100):
            watch.before_session()
    watch = watch_of(servers.peers(CHIEF), tmp_path)
    watch.before_session()
    watch.after_step(7)
    # A synchronous task that needs a new session has lost its peers.
    with pytest.raises(LostPeerError, match="lost its connection to the other tasks after step 7"):
        watch.before_session()


def test_the_reason_of_a_task_that_has_ended_is_given(servers: FakeServers, tmp_path: Path) -> None:
    chief, worker = servers.peers(CHIEF), servers.peers(WORKER)
    chief.publish(FACTS, "{}")
    watch = watch_of(chief, tmp_path)
    watch.after_step(7)
    worker.tell(TrainingError("The disk is full."))
    with pytest.raises(LostPeerError, match=r"worker 0 .* has ended: The disk is full\."):
        watch.before_session()


def test_a_worker_that_takes_long_to_end_does_not_report_a_lack_of_data(
    servers: FakeServers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peer_watch, "_QUIET_S", 0.0)
    file = ProgressFile(str(tmp_path), CHIEF)
    file.finish(file.start(0), 8)
    for last_step, is_lost in ((8, False), (9, True), (None, True)):
        watch = watch_of(servers.peers(WORKER), tmp_path, last_step=last_step)
        watch.after_step(8)
        assert watch.is_lost() == is_lost
    assert "chief 0 ran out of data after step 8" in str(watch.verdict)


def test_the_end_of_the_data_is_named_before_the_task_counts_as_stalled(
    servers: FakeServers, tmp_path: Path
) -> None:
    ProgressFile(str(tmp_path), WORKER).start(0)
    watch = watch_of(servers.peers(WORKER), tmp_path, stall_timeout_s=1.0, last_step=10)
    watch.after_step(4)
    began = time.monotonic()
    with pytest.raises(InputError, match="worker 0 ran out of data after step 4"):
        watch.check_that_chief_has_ended()
    assert time.monotonic() - began < 1.0
