"""Addresses of tasks on several hosts."""

from __future__ import annotations

from types import SimpleNamespace

from tfdistribute.cluster.spec import Task
from tfdistribute.launch.task_group import TaskGroup


class Host:
    """A host that always finds the same ports."""

    def __init__(self, address: str) -> None:
        self.address = address

    def free_ports(self, count: int) -> range:
        return range(5000, 5000 + count)


def test_hosts_with_one_address_get_different_ports():
    group = object.__new__(TaskGroup)
    group.job = SimpleNamespace(cluster=None)  # type: ignore[assignment]
    chief, worker, other = (Task("chief", 0), Task("worker", 0), Task("worker", 1))
    places = (Host("10.0.0.1"), Host("10.0.0.1"), Host("10.0.0.2"))
    group.tasks = [  # type: ignore[assignment]
        SimpleNamespace(task=task, place=each, port=None)
        for task, each in zip((chief, worker, other), places, strict=True)
    ]
    group.placement = SimpleNamespace(left_out=[])  # type: ignore[assignment]
    group.assign_addresses()
    assert [group[task].port for task in (chief, worker, other)] == [5000, 5001, 5000]
