"""Clusters of hosts that are reached by ssh."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tfdistribute.cluster.frameworks.mirai import MiraiCluster
from tfdistribute.cluster.spec import Cluster, LocalCluster, Task
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, ClusterError, TfdistributeError
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster


@pytest.mark.parametrize(
    "host",
    [
        "-oProxyCommand=touch x",
        "--",
        "a b",
        "a;b",
        "$(a)",
        "a\nb",
        "a:22",
        "me@-a",
        "@a",
        "a/b",
        "ä",
        "a'b",
        "ssh://a",
    ],
)
def test_a_hostile_host_name_is_refused(host: str):
    with pytest.raises(ClusterError, match=r"not the name of a host") as caught:
        SshCluster(hosts=("node-a", host), workers=2)
    assert caught.value.argument == "hosts"


def test_names_aliases_and_users_are_hosts():
    hosts = ("node-a", "me@node_b.example", "10.0.0.1", "A")
    assert SshCluster(hosts=hosts, workers=2).hosts == hosts


def test_tasks_are_dealt_to_the_hosts_in_turn_and_the_evaluator_is_beside_the_chief():
    cluster = SshCluster(hosts=("a", "b"), workers=3, ps=2)
    assert {str(task): cluster.host_of(task) for task in cluster.tasks} == {
        "chief 0": "a",
        "worker 0": "b",
        "worker 1": "a",
        "ps 0": "a",
        "ps 1": "b",
        "evaluator 0": "a",
    }
    slots = SshCluster(hosts=("a", "a", "b"), workers=3)
    assert slots.host_of(Task("worker", 0)) == "a"
    assert slots.host_of(Task("worker", 1)) == "b"


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"hosts": []}, ArgumentError, "`hosts` must be non-empty strings"),
        ({"workers": 0}, ArgumentError, "`workers`"),
        ({"workers": [0, 2]}, ArgumentError, "`workers` must be one count, or the fewest"),
        ({"workers": [3, 2]}, ArgumentError, r"or the fewest and the most .*, not \[3, 2\]"),
        ({"workers": [1, 2, 3]}, ArgumentError, "or the fewest and the most"),
        ({"workers": [1, 2], "ps": 1}, ArgumentError, "parameter servers .* fixed number"),
        ({"lease_s": 1}, ArgumentError, "`lease_s`"),
        ({"host_addresses": {"a": "1.2.3.4:5"}}, ClusterError, "not an address"),
        ({"host_addresses": {"c": "1.2.3.4"}}, ClusterError, "not one of `hosts`"),
        ({"environment": {"A=B": "1"}}, ArgumentError, "not the name of a variable"),
    ],
)
def test_a_mistake_is_named(fields: dict[str, Any], error: type[TfdistributeError], words: str):
    with pytest.raises(error, match=words):
        read(Cluster, {"kind": "ssh", "hosts": ["a", "b"], "workers": 2, **fields})


def test_a_range_of_workers_begins_with_the_most():
    cluster = read(Cluster, {"kind": "ssh", "hosts": ["a", "b", "c"], "workers": [2.0, 3.0]})
    assert isinstance(cluster, SshCluster)
    assert (cluster.workers, cluster.fewest_workers, cluster.most_workers) == ((2, 3), 2, 3)
    assert cluster.training_processes == 3
    assert read(Cluster, {"kind": cluster.kind, **dataclasses.asdict(cluster)}) == cluster


def test_daemons_may_be_lost() -> None:
    cluster = read(Cluster, {"kind": MiraiCluster.kind, "workers": [1, 2]})
    assert isinstance(cluster, MiraiCluster)
    assert (cluster.fewest_workers, cluster.most_workers) == (1, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": LocalCluster.kind},
        {"kind": SlurmCluster.kind, "nodes": 2},
    ],
)
def test_other_clusters_have_a_fixed_number_of_workers(fields: dict[str, Any]):
    with pytest.raises(ArgumentError, match=r"must be a whole number from 1 to 1000, not \[1, 2\]"):
        read(Cluster, {**fields, "workers": [1, 2]})
