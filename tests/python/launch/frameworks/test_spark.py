"""Addresses of sessions, and Spark's reasons in this package's words."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute.cluster.frameworks.spark import SparkCluster, address_of
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.launch.frameworks import spark

ADDRESS = "py4j://:secret@127.0.0.1:4242"


class Builder:
    """As that of Spark Connect."""

    endpoint, token = "head:15002", "a/b"
    userId = "me"  # noqa: N815 - pyspark's name

    def metadata(self) -> Any:
        return [("x-databricks-cluster-id", "7")]

    def getDefault(self, name: str, default: Any) -> Any:  # noqa: N802 - pyspark's name
        return default


def test_a_classic_session_is_reached_by_its_gateway():
    gateway = SimpleNamespace(auth_token="secret", port=4242)
    context = SimpleNamespace(_gateway=SimpleNamespace(gateway_parameters=gateway))
    cluster = SparkCluster(sc=SimpleNamespace(sparkContext=context), workers=2)
    assert cluster.sc == ADDRESS
    assert dataclasses.replace(cluster, workers=3).sc == ADDRESS
    assert "secret" not in repr(cluster)


def test_a_session_of_spark_connect_is_reached_by_its_address():
    session = SimpleNamespace(_client=SimpleNamespace(_builder=Builder()))
    assert (
        address_of(session) == "sc://head:15002/;x-databricks-cluster-id=7;user_id=me;token=a%2Fb"
    )


@pytest.mark.parametrize("session", [None, object(), "head:15002", "py4j://:s@10.0.0.1:5"])
def test_anything_else_is_no_session(session: Any):
    with pytest.raises(ArgumentError, match="must be a connection to Spark") as caught:
        SparkCluster(sc=session, workers=2)
    assert caught.value.argument == "sc"


def framework(**fields: Any) -> spark.SparkFramework:
    return spark.SparkFramework(
        {"sc": ADDRESS, "restarts": 3, "python": None, "workers": 2, "lease_s": 5, **fields}, 2
    )


def test_a_python_without_pyspark_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ClusterError, match="cannot use Spark") as caught:
        framework().connect()
    assert caught.value.argument == "sc"


LOST = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted: Could not recover from a failed barrier ResultStage.
ExecutorLostFailure (executor 0 exited)
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2856)
"""
MISFIT = """: org.apache.spark.SparkException: Job aborted due to stage failure: Could not recover.
pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has 3.10.
"""


def watch(failed: spark.SparkFramework, said: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often the stage is submitted when each one fails."""
    count = 0

    def submit(members: int = 2) -> None:
        nonlocal count
        count += 1
        failed._submitted += 1
        failed._failure = RuntimeError(said)

    monkeypatch.setattr(failed, "_submit", submit)
    submit()
    while count < 9:
        failed.watch()
    return count


@pytest.mark.parametrize(
    ("said", "problem", "remedy", "submitted"),
    [
        (LOST, "Could not recover from a failed barrier ResultStage.", "stages and executors", 4),
        (MISFIT, "[PYTHON_VERSION_MISMATCH] Python in worker has 3.10.", "as `python`", 1),
        (
            "Answer from Java side is empty",
            "Answer from Java side is empty.",
            "Connect to Spark",
            1,
        ),
    ],
)
def test_a_failed_stage_is_submitted_again_within_the_restarts_unless_it_would_fail_again(
    monkeypatch: pytest.MonkeyPatch, said: str, problem: str, remedy: str, submitted: int
):
    failed = framework()
    with pytest.raises(ClusterError) as caught:
        watch(failed, said, monkeypatch)
    assert problem in caught.value.problem
    assert remedy in str(caught.value.remedy)
    assert failed._submitted == submitted


def test_a_stage_that_lacks_slots_is_submitted_with_fewer_tasks_after_half_of_the_lease(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(spark.time, "monotonic", lambda: clock.now)
    failed = spark.SparkFramework(
        {"sc": ADDRESS, "restarts": 3, "workers": [2, 4], "lease_s": 10}, 4
    )
    counts: list[int] = []
    slots = 1
    monkeypatch.setattr(failed, "_submit", counts.append)
    monkeypatch.setattr(failed, "_slots", lambda: slots)
    failed._context, failed._failure = object(), RuntimeError(LOST)
    failed.watch()
    clock.now += 6
    failed.watch()
    slots = 3
    failed.watch()
    assert counts == [3]
    # Another failure has half of a lease of its own, and is over when there are slots again.
    failed._failure = RuntimeError(LOST)
    failed.watch()
    assert counts == [3]
    slots = 5
    failed.watch()
    assert counts == [3, 4]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"spark.dynamicAllocation.enabled": "true"}, "do not support dynamic allocation"),
        ({"spark.task.cpus": "2"}, "`cpus_per_worker` is 1, and each task of Spark has 2"),
        ({"spark.task.resource.gpu.amount": "1"}, "`gpus_per_worker` is 0"),
    ],
)
def test_settings_of_the_session_that_do_not_fit_are_named(settings: dict[str, str], problem: str):
    with pytest.raises(ClusterError, match=problem):
        framework(cpus_per_worker=1, gpus_per_worker=0)._check_settings(settings.get)


def test_a_task_uses_only_the_gpus_that_spark_gave_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    given = {"gpu": SimpleNamespace(addresses=["2", "5"])}
    context = SimpleNamespace(get=lambda: SimpleNamespace(resources=lambda: given))
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(TaskContext=context))
    code = "import os, sys; print(os.environ['CUDA_VISIBLE_DEVICES'], sys.stdin.read())"
    monkeypatch.setattr(spark, "OPTIONS", ("-c", code))
    assert spark.call_home("text") == 0
    assert capfd.readouterr().out == "2,5 text\n"
