"""Clusters of Slurm: what is refused before anything is submitted."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster, seconds_of


def cluster(**fields: Any) -> SlurmCluster:
    return SlurmCluster(**{"nodes": 2, "workers": 2, **fields})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("90:30", 5430),
        ("04:00:00", 14400),
        ("2-12", 216000),
        ("1-0:30", 88200),
        ("1-00:00:01", 86401),
        ("four", None),
        ("1:2:3:4", None),
        ("", None),
        ("UNLIMITED", None),
    ],
)
def test_a_time_is_read_as_slurm_does(text: str, seconds: int | None):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("time_limit", "four hours"),
        ("stop_signal_s", 5),
        ("stop_signal_s", 100_000),
        ("nodes", 0),
        ("nodes", 3),
        ("partition", "a b"),
        ("partition", "a\n#SBATCH --uid=0"),
        ("account", "-x"),
        ("options", ("cpus-per-task=8",)),
        ("options", ("--exclusive\n#SBATCH --uid=0",)),
        ("options", ("--mem=1", "")),
        ("lease_s", 1),
        ("environment", {"A B": "1"}),
    ],
)
def test_what_sbatch_would_not_take_is_refused_with_its_argument(argument: str, value: Any):
    with pytest.raises(ArgumentError) as caught:
        cluster(**{argument: value})
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--array=0-9", "launch"),
        ("-a 0-9", "launch"),
        ("--time=1", "`time_limit`"),
        ("-t1", "`time_limit`"),
        ("--export=ALL", "`environment`"),
        ("-N 4", "`nodes`"),
        ("--output=x", "job_logs"),
    ],
)
def test_an_option_that_follows_from_an_argument_is_refused(option: str, remedy: str):
    with pytest.raises(ArgumentError, match=r"not supported there") as caught:
        cluster(options=(option,))
    assert remedy in str(caught.value.remedy)


def test_a_time_limit_that_leaves_no_time_to_train_is_refused():
    assert cluster(time_limit="00:04:00").time_limit == "00:04:00"
    with pytest.raises(ArgumentError, match=r"up to 60 seconds early"):
        cluster(time_limit="00:03:00")


def test_tasks_are_dealt_to_the_nodes_by_number_until_they_have_names():
    described = cluster(workers=3, evaluator=True)
    hosts = [described.host_of(task) for task in described.tasks]
    assert hosts == ["node 1", "node 2", "node 1", "node 1"]
    named = cluster(hosts=("n7", "n9"))
    assert [named.host_of(task) for task in named.tasks] == ["n7", "n9", "n7"]


def test_a_description_of_r_is_read():
    found = read(Cluster, {"kind": "slurm", "nodes": 2.0, "workers": 2.0, "options": "--exclusive"})
    assert found == cluster(options=("--exclusive",))
