"""The table of rules: one test for each, and the order in which they answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tfdistribute.cluster.spec import ClusterSpec, LocalCluster
from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.errors import (
    ClusterError,
    RunConfigError,
    ShardingError,
    StrategyError,
    UnsupportedError,
)
from tfdistribute.run_config import RULES, Circumstances, RunSettings, findings, preflight
from tfdistribute.strategies import (
    CentralStorage,
    Mirrored,
    MultiWorker,
    OneDevice,
    ParameterServer,
    Strategy,
)

CLUSTER = TfConfig({"chief": ("a:1",), "worker": ("b:1", "c:1")}, "worker", 1)
ALONE = TfConfig({"chief": ("a:1",)}, "chief", 0)
TWO_CPUS = ("/device:CPU:0", "/device:CPU:1")


def traps(settings: RunSettings, circumstances: Circumstances) -> list[int]:
    return [finding.rule.trap for finding in findings(settings, circumstances)]


def test_plain_settings_keep_every_rule():
    settings = RunSettings(save_checkpoints_steps=10)
    checked = preflight(
        settings, Circumstances("train_and_evaluate", rows=100, global_batch_size=8)
    )
    assert checked.settings is settings
    assert checked.notes == ()


def test_the_table_answers_every_trap_that_settings_can_cause():
    assert {rule.trap for rule in RULES} == {1, 4, 5, 8, 11, 15, 16, 20}


def test_every_rule_can_be_printed():
    for rule in RULES:
        assert rule.rule.endswith("."), rule.rule
        assert rule.remedy.endswith(".") or rule.remedy.endswith("training."), rule.remedy
        assert rule.answer in ("repaired", "refused")


@pytest.mark.parametrize("strategy", [Mirrored(), OneDevice("CPU:0"), CentralStorage()])
def test_a_strategy_of_one_machine_is_refused_in_a_cluster(strategy: Strategy):
    with pytest.raises(StrategyError) as caught:
        preflight(RunSettings(train_distribute=strategy), Circumstances("train", tf_config=CLUSTER))
    assert "3 tasks, of which this process is worker 1" in caught.value.problem
    assert caught.value.argument == "train_distribute"
    assert (
        traps(RunSettings(train_distribute=strategy), Circumstances("train", tf_config=ALONE)) == []
    )


SERVERS = TfConfig({**CLUSTER.cluster, "ps": ("d:1",)}, "worker", 1)
LOCAL = LocalCluster(workers=2)


@pytest.mark.parametrize(
    ("strategy", "tf_config"),
    [(MultiWorker(), CLUSTER), (ParameterServer(), SERVERS), (None, SERVERS)],
)
def test_a_task_of_a_cluster_trains(strategy: Strategy | None, tf_config: TfConfig):
    settings = RunSettings(train_distribute=strategy, cluster=LOCAL)
    assert traps(settings, Circumstances("train_and_evaluate", tf_config=tf_config)) == []
    (note,) = preflight(settings, Circumstances("train", tf_config=tf_config)).notes
    assert "performed as train_and_evaluate" in note


@pytest.mark.parametrize(
    ("settings", "tf_config", "error", "problem"),
    [
        (RunSettings(cluster=LOCAL), None, UnsupportedError, "this process is none of its tasks"),
        (RunSettings(train_distribute=MultiWorker()), None, UnsupportedError, "there is none"),
        (
            RunSettings(train_distribute=MultiWorker()),
            SERVERS,
            StrategyError,
            'has 1 parameter servers ("ps")',
        ),
        (
            RunSettings(train_distribute=ParameterServer()),
            CLUSTER,
            StrategyError,
            "of which this process is worker 1, has no parameter servers",
        ),
        (RunSettings(), CLUSTER, StrategyError, "`train_distribute` is no strategy"),
        (
            RunSettings(),
            TfConfig({"worker": ("b:1", "c:1"), "ps": ("d:1",)}, "worker", 1),
            ClusterError,
            'not one "chief"',
        ),
        (
            RunSettings(train_distribute=MultiWorker()),
            TfConfig(CLUSTER.cluster, "evaluator", 1),
            ClusterError,
            "this process is evaluator 1, a second evaluator",
        ),
        (
            RunSettings(
                train_distribute=MultiWorker(), cluster=ClusterSpec(("a:1",), ("b:1", "x:1"))
            ),
            CLUSTER,
            ClusterError,
            "`cluster` has other addresses than TF_CONFIG",
        ),
    ],
)
def test_what_cannot_train_in_a_cluster_is_refused(
    settings: RunSettings, tf_config: TfConfig | None, error: type[Exception], problem: str
):
    with pytest.raises(error) as caught:
        preflight(settings, Circumstances("train_and_evaluate", tf_config=tf_config))
    assert problem in getattr(caught.value, "problem")  # noqa: B009
    # A verb that does not train needs no cluster.
    assert preflight(settings.for_verb("predict"), Circumstances("predict")).notes == ()


def test_a_worker_has_all_gpus_or_one_cpu():
    settings = RunSettings(
        train_distribute=MultiWorker(), cluster=LocalCluster(workers=2, devices_per_worker=2)
    )
    circumstances = Circumstances(
        "train_and_evaluate", tf_config=CLUSTER, devices=("/device:CPU:0",)
    )
    with pytest.raises(StrategyError, match=r"`devices_per_worker` is 2, but .* has 1 here"):
        preflight(settings, circumstances)


def test_memory_is_limited_of_gpus_only():
    settings = RunSettings(
        train_distribute=MultiWorker(), cluster=LocalCluster(workers=3, memory_limit_mb=512)
    )
    known = Circumstances("train_and_evaluate", tf_config=CLUSTER, devices=("/device:CPU:0",))
    with pytest.raises(StrategyError, match=r"`memory_limit_mb` is 512, which limits .* GPUs"):
        preflight(settings, known)
    assert traps(settings, replace(known, devices=("/device:GPU:0",))) == []


def test_a_session_config_is_added_to_the_default_of_the_task():
    settings = RunSettings(session_config={"intra_op_parallelism_threads": 1})
    assert traps(settings, Circumstances("train")) == []
    checked = preflight(settings, Circumstances("train", tf_config=ALONE))
    assert checked.settings == settings
    (note,) = checked.notes
    assert "would remove the device filters of chief 0 in TF_CONFIG. It is added" in note


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, {"device_count": {"CPU": 2}}),
        ({"device_count": {"CPU": 1, "GPU": 0}}, {"device_count": {"CPU": 2, "GPU": 0}}),
        ({"device_count": {"CPU": 5.0}}, {"device_count": {"CPU": 5}}),
        ({"placement_period": 1}, {"placement_period": 1, "device_count": {"CPU": 2}}),
    ],
)
def test_the_session_gets_the_cpus_that_the_strategy_names(given: Any, expected: Any):
    settings = RunSettings(train_distribute=Mirrored(2), session_config=given)
    checked = preflight(settings, Circumstances("train", devices=TWO_CPUS, replicas=2))
    assert checked.settings.session_config == expected
    assert settings.session_config == given
    assert "CPU:0, CPU:1" in checked.notes[0]
    assert traps(settings, Circumstances("train", devices=TWO_CPUS[:1])) == []


def test_central_storage_over_several_devices_leaves_a_note():
    settings = RunSettings(train_distribute=CentralStorage(2))
    assert (
        preflight(settings, Circumstances("train")).notes[-1].endswith("A hook keeps one of each.")
    )
    assert traps(RunSettings(eval_distribute=CentralStorage(2)), Circumstances("train")) == [4]
    assert traps(RunSettings(train_distribute=CentralStorage(1)), Circumstances("train")) == []


@pytest.mark.parametrize("verb", ["evaluate", "train_and_evaluate"])
def test_estimators_of_version_1_are_not_evaluated_under_a_strategy(verb: str):
    settings = RunSettings(eval_distribute=OneDevice("CPU:0"))
    with pytest.raises(RunConfigError, match="fails in evaluation") as caught:
        preflight(settings, Circumstances(verb, v1_canned=True))
    assert caught.value.remedy == "Use `eval_distribute = NULL`; the result is the same."
    assert traps(RunSettings(), Circumstances(verb, v1_canned=True)) == []


def test_fewer_rows_than_replicas_are_refused():
    settings = RunSettings(train_distribute=Mirrored(2))
    with pytest.raises(ShardingError, match="The input has 1 row, and strategy_mirrored"):
        preflight(settings, Circumstances("train", rows=1, replicas=2))
    assert traps(settings, Circumstances("train", rows=2, replicas=2)) == []


@pytest.mark.parametrize(("rows", "batch"), [(30, 8), (4, 8), (None, 8), (32, None)])
def test_an_odd_last_batch_is_refused_in_distributed_evaluation(
    rows: int | None, batch: int | None
):
    settings = RunSettings(eval_distribute=Mirrored(2))
    circumstances = Circumstances("evaluate", rows=rows, global_batch_size=batch, replicas=2)
    with pytest.raises(ShardingError, match="counts an odd last batch wrongly") as caught:
        preflight(settings, circumstances)
    assert caught.value.argument == "eval_distribute"
    assert traps(RunSettings(eval_distribute=OneDevice("CPU:0")), circumstances) == []
    assert traps(RunSettings(), circumstances) == []


def test_whole_batches_are_evaluated_under_a_strategy():
    circumstances = Circumstances("evaluate", rows=32, global_batch_size=8, replicas=2)
    assert traps(RunSettings(eval_distribute=Mirrored(2)), circumstances) == []


def test_the_most_fundamental_refusal_comes_first_and_all_can_be_listed():
    settings = RunSettings(train_distribute=Mirrored(2), session_config={"placement_period": 1})
    circumstances = Circumstances(
        "train",
        tf_config=CLUSTER,
        rows=1,
        replicas=2,
        devices=TWO_CPUS,
    )
    assert traps(settings, circumstances) == [15, 5, 8, 1, 11]
    with pytest.raises(StrategyError):
        preflight(settings, circumstances)
