"""Agreement of tasks before their first step, with fake servers."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.fake_peers import FakeServers, fake_servers

from tfdistribute import task_events
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task
from tfdistribute.cluster.task_facts import TaskFacts, shared_sockets
from tfdistribute.errors import (
    ClusterError,
    LostPeerError,
    ModelDirectoryError,
    StrategyError,
    TfdistributeError,
    TrainingError,
)
from tfdistribute.interrupts import StopRequest
from tfdistribute.training.multi_worker import handshake
from tfdistribute.training.multi_worker.handshake import Handshake
from tfdistribute.training.multi_worker.peers import FACTS, Peers

CLUSTER = {"chief": ("a:1",), "worker": ("b:1", "c:1")}
SHAPES = {"dense/kernel": [2, 1]}


@pytest.fixture
def servers(tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServers]:
    del tensorflow
    monkeypatch.setattr(handshake, "_POLL_S", 0.01)
    monkeypatch.setattr(handshake, "SHARE_S", 0.2)
    yield fake_servers(monkeypatch)


def member(role: str, index: int = 0, **more: tuple[str, ...]) -> Member:
    return Member({**CLUSTER, **more}, Task(role, index))


def handshake_of(peers: Peers, start_timeout_s: float = 5.0) -> Handshake:
    return Handshake(peers, "/shared/model", start_timeout_s)


def facts_of(peers: Peers, **known: Any) -> TaskFacts:
    host = {"a:1": "host-a", "b:1": "host-b"}.get(peers.member.address, "host-c")
    common = {"step": 0, "last_step": 100, "model_dir": "/shared/model"}
    return dataclasses.replace(peers.facts(**{**common, **known}), host=host)


def conclude(
    peers: Peers, work: dict[str, Any] | None = None, **known: Any
) -> TfdistributeError | None:
    """Agree as one task; return its error."""
    own = handshake_of(peers)
    own.announce(facts_of(peers, **known), work)
    try:
        own.conclude(SHAPES)
    except TfdistributeError as error:
        peers.tell(error)
        return error
    return None


def at_once(*tasks: Callable[[], Any]) -> list[Any]:
    results: list[Any] = [None] * len(tasks)

    def perform(position: int) -> None:
        results[position] = tasks[position]()

    threads = [threading.Thread(target=perform, args=(number,)) for number in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return results


def everyone(servers: FakeServers) -> list[Peers]:
    return [
        servers.peers(each) for each in (member("chief"), member("worker"), member("worker", 1))
    ]


def test_tasks_that_agree_begin(servers: FakeServers) -> None:
    chief, one, two = everyone(servers)
    assert at_once(lambda: conclude(chief), lambda: conclude(one), lambda: conclude(two)) == [
        None,
        None,
        None,
    ]


def test_a_task_that_comes_soon_is_noticed_soon() -> None:
    # A tenth of the time that has passed already.
    assert [handshake.poll_s(waited) for waited in (0, 0.5, 1, 60)] == [0.02, 0.05, 0.1, 0.2]


def sharing(peers: Peers, **known: Any) -> list[str] | TfdistributeError:
    """Agree as one task; return the sockets through which tasks share memory, or the error."""
    own = handshake_of(peers)
    offered = {"machine": "m", "socket": f"socket of {peers.member.task}"}
    own.announce(facts_of(peers, **{"communication": "auto", **offered, **known}))
    try:
        own.conclude(SHAPES)
    except TfdistributeError as error:
        return error
    return own.sockets


def test_workers_of_one_machine_share_memory(servers: FakeServers) -> None:
    chief, one, two = everyone(servers)
    found = at_once(lambda: sharing(chief), lambda: sharing(one), lambda: sharing(two))
    assert found == [["socket of chief 0", "socket of worker 0", "socket of worker 1"]] * 3


def test_workers_of_several_machines_do_not(servers: FakeServers) -> None:
    chief, one, two = everyone(servers)
    other = {"machine": "another"}
    assert at_once(lambda: sharing(chief), lambda: sharing(one), lambda: sharing(two, **other)) == [
        [],
        [],
        [],
    ]


def test_workers_that_must_share_memory_and_cannot_are_named(servers: FakeServers) -> None:
    tasks, must = everyone(servers), {"communication": "shared_memory"}
    others: list[dict[str, Any]] = [{}, {}, {"machine": "another"}]
    found = at_once(
        lambda: sharing(tasks[0], **must, **others[0]),
        lambda: sharing(tasks[1], **must, **others[1]),
        lambda: sharing(tasks[2], **must, **others[2]),
    )
    for each in found:
        assert isinstance(each, StrategyError), found
        assert each.problem == (
            '`communication = "shared_memory"` needs all workers on one machine with Linux, and worker 1 (on host-c) '
            "cannot share memory with chief 0 (on host-a)."
        )
        assert each.argument == "communication"


def test_many_workers_share_memory_only_if_they_must() -> None:
    for communication, workers, shared in [
        ("auto", 8, True),
        ("auto", 9, False),
        ("shared_memory", 9, True),
    ]:
        tasks = [
            TaskFacts("worker", "here", "p", communication=communication, machine="m", socket="s")
        ] * workers
        assert bool(shared_sockets(tasks)) == shared


def test_every_task_gets_the_same_error_for_a_difference(servers: FakeServers) -> None:
    chief, one, two = everyone(servers)
    found = at_once(
        lambda: conclude(chief), lambda: conclude(one, last_step=50), lambda: conclude(two)
    )
    assert all(isinstance(each, ClusterError) for each in found), found
    for each in found:
        assert "(on host-a)" in each.problem
        assert "worker 0 (on host-b)" in each.problem
        assert "do not agree on the last step" in each.problem
        assert each.argument == "max_steps"
        assert not each.is_transient


def test_every_task_gets_the_field_in_which_two_descriptions_differ(servers: FakeServers) -> None:
    chief, one, two = everyone(servers)
    same = {"object$optimizer$settings$learning_rate": 0.01, "input$values": "checksum 1"}
    other = {**same, "object$optimizer$settings$learning_rate": 0.02}
    found = at_once(
        lambda: conclude(chief, same), lambda: conclude(one, same), lambda: conclude(two, other)
    )
    for each in found:
        assert isinstance(each, ClusterError), found
        assert each.argument == "learning_rate"
        assert "worker 1 (on host-c)" in each.problem
        assert "0.01 and 0.02" in each.problem or "0.02 and 0.01" in each.problem


def test_two_processes_that_are_the_same_task_are_named(servers: FakeServers) -> None:
    chief = servers.peers(member("chief"))
    second = servers.peers(member("chief"), "another process")
    # The second one runs on the host of worker 0.
    servers.texts["b:1"] = {FACTS: facts_of(second).as_text()}
    error = conclude(chief)
    assert isinstance(error, ClusterError)
    assert "The process that answers at b:1 is chief 0" in error.problem


def test_a_process_that_has_trained_more_often_is_named(servers: FakeServers) -> None:
    chief, worker = (servers.peers(each) for each in (member("chief"), member("worker")))
    # Only the worker was started again after a training of both.
    chief.training = 2
    for each in (chief, worker):
        handshake_of(each).announce(facts_of(each))
    found = at_once(lambda: conclude(chief), lambda: conclude(worker))
    for each in found:
        assert isinstance(each, ClusterError), found
        assert "chief 0 (on host-a) is in training 2 since its process was started" in each.problem
        assert "Restart R" in str(each.remedy)


@pytest.mark.parametrize("state", ["away", "frozen"])
def test_a_task_that_does_not_answer_is_named(servers: FakeServers, state: str) -> None:
    getattr(servers, state).add("a:1")
    worker = servers.peers(member("worker"))
    began = time.monotonic()
    with pytest.raises(LostPeerError) as caught:
        handshake_of(worker, start_timeout_s=0.3).facts_of_chief()
    assert (
        caught.value.problem == "worker 0 waited 0 seconds, and nothing answers at chief 0 (a:1)."
    )
    assert time.monotonic() - began < 5


def test_a_task_that_still_prepares_its_training_has_five_times_as_long(
    servers: FakeServers,
) -> None:
    worker = servers.peers(member("worker"))
    began = time.monotonic()
    with pytest.raises(LostPeerError) as caught:
        handshake_of(worker, start_timeout_s=0.2).facts_of_chief()
    assert 1.0 <= time.monotonic() - began < 5
    assert "chief 0 (a:1) answered, but did not begin this training" in caught.value.problem


def test_a_task_that_does_not_see_what_the_chief_wrote_is_named(
    servers: FakeServers, tmp_path: Path
) -> None:
    chief, worker = (servers.peers(each) for each in (member("chief"), member("worker")))
    own = handshake_of(worker)
    facts = facts_of(chief, mark="m1")
    own.check_directory(facts, lambda: "m1")
    with pytest.raises(ModelDirectoryError, match="worker 0 .* does not see in `model_dir`"):
        own.check_directory(facts, lambda: "m0")
    # The chief is told, and ends with the same error.
    chief.publish(FACTS, facts.as_text())
    report = chief.report()
    assert isinstance(report, ModelDirectoryError)
    assert report.argument == "model_dir"


def test_a_task_that_ends_tells_the_others_why(servers: FakeServers) -> None:
    chief, worker = (servers.peers(each) for each in (member("chief"), member("worker")))
    chief.publish(FACTS, facts_of(chief).as_text())
    worker.tell(TrainingError("The loss became NaN."))
    report = chief.report()
    assert isinstance(report, LostPeerError)
    assert report.problem.startswith("worker 0 (on ")
    assert report.problem.endswith("has ended: The loss became NaN.")
    assert report.value == "worker 0"


def test_a_worker_of_parameter_servers_and_a_task_of_a_job_end_alone(
    servers: FakeServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_servers = {"ps": ("d:1",)}
    assert member("worker", **with_servers).dependents == ()
    assert [str(task) for task, _ in member("chief", **with_servers).dependents] == [
        "ps 0",
        "worker 0",
        "worker 1",
    ]
    chief = servers.peers(member("chief", **with_servers))
    monkeypatch.setenv(task_events.JOB, "somewhere")
    chief.tell(TrainingError("It failed."))
    # The supervisor of a job decides what happens to the others.
    assert servers.texts == {}


def test_watching_does_not_grow_with_the_square_of_the_tasks() -> None:
    assert [str(task) for task, _ in member("worker", 1).watched] == ["chief 0"]
    assert [str(task) for task, _ in member("chief").watched] == ["worker 0", "worker 1"]
    assert [str(task) for task, _ in member("worker", ps=("d:1",)).watched] == ["ps 0", "chief 0"]


def test_waiting_for_answers_ends_when_all_answer_or_at_the_deadline(servers: FakeServers) -> None:
    servers.away.add("b:1")
    chief = servers.peers(member("chief"))
    both = chief.member.needed
    assert handshake_of(chief).wait_for_answers(both[1:]) == []
    assert handshake_of(chief, start_timeout_s=0.3).wait_for_answers(both) == [both[0]]
    began = time.monotonic()
    stop = StopRequest()
    stop.requested = True
    Handshake(chief, "", 60, stop).wait_for_answers(both)
    assert time.monotonic() - began < 5


def test_a_chief_that_is_in_its_next_training_has_written_another_mark(
    servers: FakeServers,
) -> None:
    """As in a script with several short trainings, while the evaluator is still in the first."""
    chief, late = (servers.peers(each) for each in (member("chief"), member("evaluator")))
    facts = dataclasses.replace(facts_of(chief, mark="m2"), training=late.training + 1)
    handshake_of(late).check_directory(facts, lambda: "m1")
