"""Plans: what each task would do, with shards that add up to the whole data."""

from __future__ import annotations

import re

import pytest

from tfdistribute.cluster.spec import ClusterSpec, LocalCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.errors import ShardingError, UnsupportedError
from tfdistribute.plan import Workload, plan
from tfdistribute.run_config import RunContext, RunSettings, preflight

CLUSTER = ClusterSpec(chief=("a:1",), worker=("b:1", "c:1"), evaluator=("a",))
WORK = Workload("runs/m", rows=90, global_batch_size=30, evaluation_rows=9)


def test_every_task_has_a_row_in_the_order_of_roles():
    rows = plan(CLUSTER, WORK)
    assert [(row.task, row.host, row.port) for row in rows] == [
        ("chief 0", "a", 1),
        ("worker 0", "b", 1),
        ("worker 1", "c", 1),
        ("evaluator 0", "a", None),
    ]
    assert [row.writes for row in rows] == [
        "checkpoints in runs/m",
        "no checkpoints",
        "no checkpoints",
        "metrics in runs/m/eval",
    ]


@pytest.mark.parametrize("devices", [1, 2])
def test_the_parts_of_a_batch_make_the_whole_batch(devices: int):
    parts = [
        re.findall(r"\d+", row.reads) for row in plan(LocalCluster(3, 0, False, devices), WORK)
    ]
    read = [example for first, last, _ in parts for example in range(int(first), int(last) + 1)]
    assert read == list(range(1, 31))


def test_workers_of_parameter_servers_take_whole_batches_in_turns():
    rows = plan(LocalCluster(2, ps=1), WORK)
    assert [row.reads for row in rows[:3]] == [
        "batch 1 of every 2",
        "batch 2 of every 2",
        "nothing",
    ]
    assert [row.replica_batch_size for row in rows[:3]] == [30, 30, None]


def test_a_batch_that_cannot_be_divided_is_refused():
    with pytest.raises(ShardingError, match="30 examples cannot be split evenly over 4"):
        plan(LocalCluster(4), WORK)


def test_a_batch_that_some_number_of_workers_cannot_divide_is_refused():
    hosts = ("a", "b", "c", "d")
    assert plan(SshCluster(hosts=hosts, workers=(2, 3)), WORK)[0].replica_batch_size == 10
    with pytest.raises(ShardingError, match="from 2 to 4") as caught:
        plan(SshCluster(hosts=hosts, workers=(2, 4)), WORK)
    assert caught.value.argument == "batch_size"


def test_the_environment_of_a_task_is_its_tf_config_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("A_PASSWORD", "planted-secret")
    for row in plan(CLUSTER, WORK):
        found = read_tf_config({"TF_CONFIG": row.environment or ""})
        assert found is not None
        assert found.task == row.task
        assert "planted-secret" not in repr(row)


def test_a_script_is_quoted_for_a_shell():
    (row,) = plan(None, Workload("m", script="my file; rm.R"))
    assert row.command == "Rscript 'my file; rm.R'"


@pytest.mark.parametrize("verb", ["train", "train_and_evaluate"])
def test_training_outside_of_its_cluster_is_refused_with_a_remedy(verb: str):
    with pytest.raises(
        UnsupportedError, match=r"a cluster of 3 tasks \(chief 0, worker 0, eva"
    ) as e:
        preflight(RunContext(RunSettings(cluster=LocalCluster(2)), verb))
    assert e.value.argument == "cluster"


@pytest.mark.parametrize("verb", ["evaluate", "predict", "export_savedmodel"])
def test_a_model_of_a_cluster_is_used_without_it(verb: str):
    preflight(RunContext(RunSettings(cluster=LocalCluster(2)), verb))


def test_the_tasks_of_a_local_cluster_perform_the_verb_that_starts_them():
    rows = plan(LocalCluster(2), Workload(model_dir="runs/cars"))
    assert {row.command for row in rows} == {"Rscript -e 'tfdistribute:::run_task()'"}
