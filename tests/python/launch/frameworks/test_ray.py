"""Ray's reasons in this package's words."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute.cluster.frameworks.ray import RayCluster
from tfdistribute.cluster.spec import Task
from tfdistribute.errors import ClusterError
from tfdistribute.launch.frameworks.ray import RayFramework, fits

FIELDS: Mapping[str, Any] = {
    "address": "head:6379",
    "cpus_per_worker": 2,
    "gpus_per_worker": 1,
    "placement": "pack",
}
NODES = [{"CPU": 4.0, "GPU": 2.0}, {"CPU": 8.0, "GPU": 1.0}, {"CPU": 4.0}]


def test_each_worker_and_server_has_an_actor_and_the_evaluator_that_of_the_chief():
    cluster = RayCluster(workers=2, ps=1, gpus_per_worker=2)
    assert cluster.devices_per_worker == 2
    hosts = {str(task): cluster.host_of(task) for task in cluster.tasks}
    assert hosts == {
        "chief 0": "actor 0",
        "worker 0": "actor 1",
        "ps 0": "actor 2",
        "evaluator 0": "actor 0",
    }
    assert cluster.host_of(Task("worker", 0)) == "actor 1"


@pytest.mark.parametrize(
    ("count", "placement", "is_possible"),
    [
        (3, "pack", True),
        (4, "spread", False),
        (2, "strict_pack", True),
        (3, "strict_pack", False),
        (2, "strict_spread", True),
        (3, "strict_spread", False),
    ],
)
def test_actors_fit_if_empty_nodes_have_room(count: int, placement: str, is_possible: bool):
    assert fits({"CPU": 2.0, "GPU": 1.0}, count, NODES, placement) == is_possible


def test_a_python_without_ray_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match="does not have the package ray") as caught:
        RayFramework(FIELDS, 2).connect()
    assert caught.value.argument == "address"


MISMATCH = """Version mismatch: The cluster was started with:
    Ray: 2.9.0
    Python: 3.10.1
This process on 10.0.0.1 was started with:
    Ray: 2.60.0
    Python: 3.11.2
"""


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (
            MISMATCH,
            "has Ray 2.9.0 with Python 3.10.1, and this session has Ray 2.60.0 with Python 3.11.2.",
        ),
        ("Can't find a node.\nMore.", 'Ray cannot be used at "head:6379": Can\'t find a node.'),
    ],
)
def test_what_ray_says_is_explained(monkeypatch: pytest.MonkeyPatch, said: str, problem: str):
    class FakeRay:
        @staticmethod
        def init(**_: Any) -> None:
            raise RuntimeError(said)

    framework = RayFramework(FIELDS, 2)
    monkeypatch.setitem(sys.modules, "ray", FakeRay)
    monkeypatch.setattr(framework, "_reach", lambda: "10.0.0.2")
    with pytest.raises(ClusterError) as caught:
        framework.connect()
    assert caught.value.problem.endswith(problem)


def test_members_on_nodes_that_ray_drains_are_leaving(monkeypatch: pytest.MonkeyPatch):
    draining: dict[str, int] = {}
    state = SimpleNamespace(get_draining_nodes=lambda: draining)
    groups = SimpleNamespace(
        placement_group_table=lambda _: {"bundles_to_node_id": {0: "a", 1: "b"}}
    )
    monkeypatch.setitem(sys.modules, "ray._private.state", SimpleNamespace(state=state))
    monkeypatch.setitem(sys.modules, "ray.util.placement_group", groups)
    framework = RayFramework(FIELDS, 2)
    assert framework.leaving() == []
    draining["b"] = 1
    assert framework.leaving() == [1]
    # Its client would wait for a head node that is gone.
    with socket.create_server(("127.0.0.1", 0)) as free:
        framework._head = free.getsockname()
    assert framework.watch() is None
    assert framework.leaving() == []
    framework._is_silent = False
    # An older Ray does not report it.
    monkeypatch.setitem(sys.modules, "ray._private.state", SimpleNamespace())
    assert framework.leaving() == []
