"""Which task is on which host when hosts are lost and come back, with places without processes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.job_fakes import fake_job

from tfdistribute.errors import ClusterError
from tfdistribute.launch import placement
from tfdistribute.launch.placement import Placement
from tfdistribute.launch.places.remote import RemotePlace
from tfdistribute.launch.places.transport import Transport
from tfdistribute.launch.task_process import TaskProcess

pytestmark = pytest.mark.usefixtures("own_temporary_directory")


class Host(RemotePlace):
    """A host that is lost and comes back as the test says."""

    is_away = is_told = False

    def __init__(self, name: str) -> None:
        super().__init__(name, Transport(lambda command: None), "")  # type: ignore[arg-type]
        self.connections = 0

    @property
    def is_lost(self) -> bool:
        return self.is_away

    @property
    def is_leaving(self) -> bool:
        return self.is_told

    @property
    def is_back(self) -> bool:
        return not self.is_away and not self.is_told

    def reconnect(self) -> None:
        self.connections += 1

    def renew(self, wait: bool = True) -> None:
        """It is there again as soon as the test says so."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(placement, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def placed(
    directory: Path, workers: Any, **cluster: Any
) -> tuple[Placement, list[Host], list[TaskProcess]]:
    hosts = [Host(name) for name in "abc"]
    described = {"kind": "ssh", "hosts": list("abc"), "workers": workers, "lease_s": 5, **cluster}
    job = fake_job(directory, {}, cluster=described)
    tasks = [
        TaskProcess(task, hosts["abc".index(job.cluster.host_of(task))], "log", "events")  # type: ignore[attr-defined]
        for task in job.tasks
    ]
    return Placement(job, tasks), hosts, tasks


def shown(tasks: list[TaskProcess] | None) -> list[str] | None:
    return None if tasks is None else [f"{task.name} on {task.place.host}" for task in tasks]


def test_tasks_move_from_a_host_that_stays_lost_and_back(tmp_path: Path, clock: SimpleNamespace):
    placement, hosts, tasks = placed(tmp_path, [2, 3], evaluator=False)
    assert placement.hosts == ("a", "b", "c")
    hosts[1].is_away = True
    assert placement.renew(tasks) is None
    clock.now += 4.9
    assert placement.renew(tasks) is None
    clock.now += 0.2
    assert shown(placement.renew(tasks)) == ["chief 0 on a", "worker 0 on c"]
    assert placement.hosts == ("a", "c")
    assert [(each.name, each.view.host, each.view.state) for each in placement.left_out] == [
        ("worker 1", "b", "stopped")
    ]
    # It is asked every five seconds whether it is back.
    hosts[1].connections = 0
    for _ in range(10):
        clock.now += 1
        placement.look_for_hosts()
    assert hosts[1].connections == 2
    hosts[1].is_away = False
    assert placement.hosts == ("a", "c")
    assert shown(placement.renew(tasks[:2])) == [
        "chief 0 on a",
        "worker 0 on b",
        "worker 1 on c",
    ]
    assert placement.left_out == []


def test_the_evaluator_follows_the_chief(tmp_path: Path, clock: SimpleNamespace):
    placement, hosts, tasks = placed(tmp_path, [1, 3])
    evaluator = tasks[-1]
    hosts[0].is_away = True
    # It is lost with the chief, and due before it.
    assert placement.renew([evaluator]) is None
    clock.now += 6
    assert placement.renew([evaluator]) is None
    assert shown(placement.renew(tasks)) == [
        "chief 0 on b",
        "worker 0 on c",
        "evaluator 0 on b",
    ]
    # Alone, it takes no host from tasks that train.
    hosts[0].is_away = False
    assert shown(placement.renew([evaluator])) == ["evaluator 0 on b"]
    assert placement.hosts == ("b", "c")


def test_a_host_that_is_back_within_its_lease_is_used(tmp_path: Path, clock: SimpleNamespace):
    placement, hosts, tasks = placed(tmp_path, [2, 3], evaluator=False)
    hosts[2].is_away = True
    assert placement.renew(tasks) is None
    clock.now += 4
    hosts[2].is_away = False
    assert shown(placement.renew(tasks)) == ["chief 0 on a", "worker 0 on b", "worker 1 on c"]
    # Another loss has a lease of its own.
    hosts[2].is_away = True
    clock.now += 4
    assert placement.renew(tasks) is None


def test_too_few_hosts_are_named_with_their_reasons(tmp_path: Path, clock: SimpleNamespace):
    placement, hosts, tasks = placed(tmp_path, [2, 3], evaluator=False)
    hosts[0].is_away = hosts[1].is_away = True
    assert placement.renew(tasks) is None
    clock.now += 6
    with pytest.raises(ClusterError) as caught:
        placement.renew(tasks)
    assert caught.value.problem == (
        "The lost hosts leave 1 worker, and the job needs at least 2: a (it was never connected), b (it was never "
        "connected)."
    )
    assert caught.value.argument == "workers"


def test_a_host_with_several_workers_is_lost_with_all_of_them(
    tmp_path: Path, clock: SimpleNamespace
):
    placement, hosts, tasks = placed(tmp_path, [2, 4], evaluator=False, hosts=["a", "b", "a", "b"])
    hosts[0].is_away = True
    assert placement.renew(tasks) is None
    clock.now += 6
    assert shown(placement.renew(tasks)) == ["chief 0 on b", "worker 0 on b"]


def test_a_host_whose_end_is_announced_is_left_immediately(tmp_path: Path, clock: SimpleNamespace):
    placement, hosts, tasks = placed(tmp_path, [2, 3])
    hosts[0].is_told = True
    starting = [task for task in tasks if task.task.trains or task.place is hosts[0]]
    assert shown(placement.renew(starting)) == ["chief 0 on b", "worker 0 on c", "evaluator 0 on b"]
    assert placement.returned == []
    # It ends, and is there again.
    hosts[0].is_away = True
    assert placement.returned == []
    hosts[0].is_told = hosts[0].is_away = False
    assert placement.returned == ["a"]
    assert shown(placement.renew(tasks[:3])) == ["chief 0 on a", "worker 0 on b", "worker 1 on c"]
    assert placement.returned == []


@pytest.mark.parametrize("workers", [3, [2, 3]])
def test_without_enough_other_hosts_the_training_waits_for_the_announced_end(
    tmp_path: Path, clock: SimpleNamespace, workers: Any
):
    placement, hosts, tasks = placed(tmp_path, workers, evaluator=False)
    for host in hosts[:2]:
        host.is_told = True
    assert placement.renew(tasks) is None
    clock.now += 60
    assert placement.renew(tasks) is None
    for host in hosts:
        host.is_told = False
    assert placement.renew(tasks) == tasks


def test_a_host_with_two_workers_returns_with_both(tmp_path: Path, clock: SimpleNamespace):
    hosts = {"kind": "ssh", "hosts": ["a", "b", "b"]}
    placement, places, tasks = placed(tmp_path, [1, 3], evaluator=False, **hosts)
    places[1].is_told = True
    assert shown(placement.renew(tasks)) == ["chief 0 on a"]
    places[1].is_told = False
    assert placement.returned == ["b", "b"]
