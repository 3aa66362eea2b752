"""The table of rules: one test for each, and the order in which they answer."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.errors import RunConfigError, ShardingError, StrategyError, UnsupportedError
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
    assert {rule.trap for rule in RULES} == {1, 4, 5, 8, 9, 11, 13, 14, 15, 20}


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


@pytest.mark.parametrize("strategy", [None, MultiWorker(), ParameterServer()])
@pytest.mark.parametrize("verb", ["train", "evaluate", "train_and_evaluate", "predict"])
def test_a_cluster_is_refused_as_not_supported(strategy: Strategy | None, verb: str):
    with pytest.raises(UnsupportedError, match=f"cannot {verb} in a cluster"):
        preflight(RunSettings(train_distribute=strategy), Circumstances(verb, tf_config=CLUSTER))


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


def test_the_session_gets_the_cpus_that_the_model_names():
    checked = preflight(RunSettings(), Circumstances("predict", cpu_devices_in_model=3))
    assert checked.settings.session_config == {"device_count": {"CPU": 3}}
    assert traps(RunSettings(), Circumstances("train", cpu_devices_in_model=3)) == [14]
    assert traps(RunSettings(), Circumstances("train", cpu_devices_in_model=1)) == []


def test_the_larger_of_two_cpu_counts_holds():
    circumstances = Circumstances("train", devices=TWO_CPUS, replicas=2, cpu_devices_in_model=4)
    checked = preflight(RunSettings(train_distribute=Mirrored(2)), circumstances)
    assert checked.settings.session_config == {"device_count": {"CPU": 4}}


def test_central_storage_over_several_devices_leaves_a_note():
    settings = RunSettings(train_distribute=CentralStorage(2))
    assert (
        preflight(settings, Circumstances("train")).notes[-1].endswith("A hook keeps one of each.")
    )
    assert traps(RunSettings(eval_distribute=CentralStorage(2)), Circumstances("train")) == [4]
    assert traps(RunSettings(train_distribute=CentralStorage(1)), Circumstances("train")) == []


@pytest.mark.parametrize("kind", ["v1", "new_keras_instance"])
def test_optimizers_that_canned_models_do_not_accept_are_refused(kind: str):
    circumstances = Circumstances("train", model_kind="dnn_regressor", optimizer_kind=kind)
    with pytest.raises(RunConfigError, match=r"which dnn_regressor\(\) does not accept") as caught:
        preflight(RunSettings(), circumstances)
    assert caught.value.argument == "optimizer"
    for other in ("custom", "keras"):
        free = Circumstances("train", model_kind=other, optimizer_kind=kind)
        assert traps(RunSettings(), free) == []


def test_a_keras_optimizer_object_is_made_anew():
    circumstances = Circumstances(
        "train", model_kind="dnn_regressor", optimizer_kind="keras_instance"
    )
    assert preflight(RunSettings(), circumstances).notes[0].endswith("is made for each.")


@pytest.mark.parametrize("kind", ["name", "callable", None])
def test_other_optimizers_keep_the_rules(kind: str | None):
    circumstances = Circumstances("train", model_kind="dnn_regressor", optimizer_kind=kind)
    assert traps(RunSettings(), circumstances) == []


@pytest.mark.parametrize("strategy", [Mirrored(2), CentralStorage(2)])
def test_early_stopping_hooks_are_refused_under_several_replicas(strategy: Strategy):
    circumstances = Circumstances("train", early_stopping_hooks=True)
    with pytest.raises(RunConfigError, match="early stopping hook") as caught:
        preflight(RunSettings(train_distribute=strategy), circumstances)
    assert caught.value.argument == "hooks"
    assert traps(RunSettings(), circumstances) == []
    assert traps(RunSettings(train_distribute=OneDevice("CPU:0")), circumstances) == []


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
        model_kind="dnn_regressor",
        optimizer_kind="v1",
        early_stopping_hooks=True,
        rows=1,
        replicas=2,
        devices=TWO_CPUS,
    )
    assert traps(settings, circumstances) == [15, 8, 1, 9, 13, 11]
    with pytest.raises(StrategyError):
        preflight(settings, circumstances)
