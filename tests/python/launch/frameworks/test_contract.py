"""Contract of frameworks: jobs whose hosts are members of a gang, on a framework of local processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import fake_framework
from support.fake_framework import FakeCluster, running
from support.job_fakes import TRAINS, result, row, state_when
from support.remote_hosts import mark, marked, soon

from tfdistribute.launch.frameworks.broker import Broker
from tfdistribute.launch.frameworks.gang import Gang
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job_handle import stop_job

__all__ = ["mark"]

LONG = (("train", 3), ("sleep", 60))
# Trains on in the second start.
HEALS = {"worker-0@0": (("child", True), *LONG), "chief-0@0": LONG}


def is_training(state: dict[str, Any]) -> bool:
    return all(each["step"] == 3 for each in state["tasks"])


def kill(mark: Path, words: str) -> None:
    pids = [pid for pid, line in marked(mark).items() if words in line]
    assert pids, marked(mark)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def member(mark: Path, index: int) -> int:
    return int((mark / f"member-{index}").read_text())


def assert_nothing_is_left(mark: Path, seconds: float = 12) -> None:
    assert soon(lambda: not marked(mark), seconds), marked(mark)


@pytest.mark.jobs
def test_members_train_with_the_cores_that_they_were_given(mark: Path):
    acts = {"chief": (("print_files",), *TRAINS)}
    with running(mark, acts) as job:
        state = result(job, 40)
        assert state["state"] == "done", state["failure"]
        assert [each["host"] for each in state["tasks"]] == ["process 0", "process 1"]
        log = Path(row(state, "chief 0")["log"]).read_text()
        threads = "TF_NUM_INTRAOP_THREADS=1\n" in log
        assert threads == (len(os.sched_getaffinity(0)) > 1)
        assert "CUDA_VISIBLE_DEVICES=\n" in log
        assert not any("same machine" in note for note in state["notes"])
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_a_killed_member_is_replaced_and_its_tasks_start_again(mark: Path):
    with running(mark, HEALS, lease_s=60) as job:
        state_when(job, is_training, 30)
        os.killpg(member(mark, 1), signal.SIGKILL)
        # Nothing waits for the lease.
        state_when(job, lambda state: state["restarts"] == 1, 5)
        state = result(job, 20)
        assert state["state"] == "done", state["failure"]
        assert any("was lost with its host process 1" in note for note in state["notes"])
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_a_killed_driver_is_started_again(mark: Path):
    with running(mark, HEALS) as job:
        state_when(job, is_training, 30)
        kill(mark, "launch.frameworks.driver import main")
        os.killpg(member(mark, 0), signal.SIGKILL)
        state = result(job, 30)
        assert state["state"] == "done", state["failure"]
    assert_nothing_is_left(mark)


@pytest.mark.jobs
@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ("refuse", "The fake framework has only one room."),
        (
            "full",
            "The process 0 of the fake framework cannot be used: it did not answer in 3 seconds",
        ),
    ],
)
def test_what_a_framework_does_not_give_is_named_before_a_task_starts(
    mark: Path, act: str, problem: str
):
    (mark / act).touch()
    with running(mark, {}, start_timeout_s=3) as job:
        state = result(job, 20)
        assert problem in state["failure"]["problem"]
        assert ("all rooms are taken" in state["failure"]["problem"]) == (act == "full")
        assert {each["pid"] for each in state["tasks"]} == {None}
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_a_framework_that_is_gone_is_named_when_its_members_are_lost(mark: Path):
    with running(mark, HEALS, restarts=1) as job:
        state_when(job, is_training, 30)
        (mark / "refuse").touch()
        (mark / "gone").touch()
        os.killpg(member(mark, 0), signal.SIGKILL)
        state = result(job, 15)
        assert "The fake framework has only one room" in state["failure"]["problem"]
    assert_nothing_is_left(mark)


def test_a_member_that_waits_for_a_framework_that_ended_asks_it_again(
    mark: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(str(Path(fake_framework.__file__).parents[1]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    gang = Gang(FakeCluster(directory=str(mark), workers=2, python=sys.executable))
    host = gang.transport_to("process 0")
    first = host.open([sys.executable, "-c", "input()"])
    assert soon(first.is_open, 10)
    # The same member, which is in use; the driver does not know yet what happened.
    second = host.open([sys.executable, "-c", "input()"])
    (mark / "refuse").touch()
    (mark / "gone").touch()
    assert soon(lambda: not second.is_open() and second.refusal is not None, 10)
    assert second.refusal is not None
    assert second.refusal.problem == "The fake framework has only one room."
    for each in (first, second):
        each.close(1)
    host.release(1)
    assert_nothing_is_left(mark)


def test_a_framework_that_does_not_end_is_killed(mark: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(Path(fake_framework.__file__).parents[1]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setattr(fake_framework.gang, "_END_S", 0.2)
    gang = Gang(FakeCluster(directory=str(mark), workers=2, python=sys.executable))
    host = gang.transport_to("process 0")
    channel = host.open([sys.executable, "-c", "input()"])
    assert soon(channel.is_open, 10)
    (mark / "stuck").touch()
    channel.close(1)
    began = time.monotonic()
    host.release(0.1)
    assert time.monotonic() - began < 10
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_members_that_stay_lost_are_left_out_and_used_again_when_they_are_back(mark: Path):
    again = (("session", 2), ("train", 8, 3), ("sleep", 60))
    acts = {f"chief-0@{number}": again for number in (0, 1)}
    acts |= {f"worker-{index}@{number}": again for index in (0, 1) for number in (0, 1)}
    with running(mark, acts, workers=[2, 3]) as job:
        state_when(job, lambda state: all(each["step"] == 8 for each in state["tasks"]), 30)
        (mark / "full").touch()
        os.killpg(member(mark, 1), signal.SIGKILL)
        state = state_when(
            job,
            lambda state: (
                state["restarts"] == 1 and [each["step"] for each in trains(state)] == [8, 8]
            ),
            30,
        )
        assert [each["host"] for each in trains(state)] == ["process 0", "process 2"]
        (mark / "full").unlink()
        before = member(mark, 1)
        assert soon(lambda: member(mark, 1) != before, 10)
        time.sleep(3)
        os.kill(row(state, "worker 0")["pid"], signal.SIGKILL)
        state = result(job, 30)
        assert state["state"] == "done", state["failure"]
        assert [each["host"] for each in state["tasks"]] == ["process 0", "process 1", "process 2"]
    assert_nothing_is_left(mark)


def trains(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in state["tasks"] if each["pid"] is not None]


@pytest.mark.jobs
def test_a_member_that_is_going_to_be_taken_away_is_left_out_without_a_loss(mark: Path):
    acts = {
        "chief-0@0": (("session", 0), ("save_on_interrupt", 3), *LONG),
        "worker": LONG,
        "chief-0@1": (("session", 3), ("train", 8, 4), ("finish", 8)),
    }
    with running(mark, acts, workers=[1, 2], restarts=0) as job:
        state_when(job, is_training, 20)
        (mark / "leaving-0").touch()
        state = result(job, 30)
        assert (state["state"], state["restarts"], state["steps_lost"]) == ("done", 0, 0), state
        assert state["history"]["workers"][-1]["hosts"] == "process 1"
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_too_few_members_are_named(mark: Path):
    with running(mark, {"chief": LONG, "worker": LONG}, workers=[2, 3]) as job:
        state_when(job, is_training, 30)
        (mark / "full").touch()
        for index in (0, 1):
            os.killpg(member(mark, index), signal.SIGKILL)
        problem = result(job, 30)["failure"]["problem"]
        assert "leave 1 worker, and the job needs at least 2: process 0" in problem
        assert "all rooms are taken" in problem
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_stopping_a_job_ends_its_members(mark: Path):
    acts = {"chief": (("save_on_interrupt", 3), *LONG), "worker": (("child", True), *LONG)}
    with running(mark, acts) as job:
        state_when(job, is_training, 30)
        state = stop_job(job)
        assert (state["state"], state["checkpoint"]) == ("stopped", 3)
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_a_job_that_waits_for_a_lost_member_can_be_stopped(mark: Path):
    with running(mark, HEALS) as job:
        state_when(job, is_training, 30)
        (mark / "full").touch()
        os.killpg(member(mark, 1), signal.SIGKILL)
        state_when(job, lambda state: state["restarts"] == 1, 10)
        began = time.monotonic()
        state = stop_job(job)
        assert state["state"] == "stopped", state
        assert time.monotonic() - began < 10
    assert_nothing_is_left(mark)


@pytest.mark.jobs
def test_no_member_is_left_when_the_supervisor_is_killed(mark: Path):
    with running(mark, HEALS) as job:
        state_when(job, is_training, 30)
        os.kill(job["pid"], signal.SIGKILL)
    assert_nothing_is_left(mark)
    private_directory.remove_abandoned()


@pytest.fixture
def broker() -> Iterator[Broker]:
    with closing(Broker("127.0.0.1")) as made:
        yield made


def call(broker: Broker, index: int = 0, **changed: Any) -> list[socket.socket]:
    connections = []
    for stream in ("agent", "errors"):
        connection = socket.create_connection((broker.host, broker.port), 5)
        hello = {"token": broker.token, "index": index, "stream": stream, "caller": "a", **changed}
        connection.sendall(json.dumps(hello).encode() + b"\n")
        connections.append(connection)
    return connections


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(5)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("changed", [{"token": "0"}, {"token": 0}, {"index": "0"}, {"stream": "x"}])
def test_a_stranger_is_sent_away(broker: Broker, changed: dict[str, Any]):
    connections = call(broker, **changed)
    assert not soon(lambda: broker.take(0), 0.3)
    assert all(is_closed(each) for each in connections)


def test_a_member_that_says_who_it_is_later_is_waited_for(broker: Broker):
    hello = {"token": broker.token, "index": 0, "caller": "a"}
    connections = [socket.create_connection((broker.host, broker.port), 5) for _ in range(2)]
    assert not soon(lambda: broker.take(0), 0.2)
    for each, stream in zip(connections, ("agent", "errors"), strict=True):
        each.sendall(json.dumps({**hello, "stream": stream}).encode())
    assert not soon(lambda: broker.take(0), 0.2)
    for each in connections:
        each.sendall(b"\n")
    assert soon(lambda: [each.close() for each in broker.take(0) or ()])
    for each in connections:
        each.close()


def test_a_member_has_one_connection_the_newest(broker: Broker):
    old = call(broker, 1)
    assert not soon(lambda: broker.take(0), 0.2)
    new = call(broker, 1, caller="b")
    assert not soon(lambda: broker.take(0), 0.2)
    taken = broker.take(1)
    assert taken is not None
    assert all(is_closed(each) for each in old)
    taken[0].sendall(b"x")
    assert new[0].recv(1) == b"x"
    assert broker.take(1) is None
    for each in [*taken, *new, *old]:
        each.close()


def test_a_member_that_went_away_while_it_waited_is_not_taken(broker: Broker):
    for each in call(broker):
        each.close()
    time.sleep(0.1)
    assert broker.take(0) is None
