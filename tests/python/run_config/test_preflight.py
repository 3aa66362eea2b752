"""The rules table: one test per rule, and their order of precedence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tfdistribute.cluster.frameworks.mirai import MiraiCluster
from tfdistribute.cluster.frameworks.ray import RayCluster
from tfdistribute.cluster.frameworks.spark import SparkCluster
from tfdistribute.cluster.managed import KubernetesCluster, VertexCluster
from tfdistribute.cluster.spec import Cluster, ClusterSpec, LocalCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.errors import (
    ClusterError,
    RunConfigError,
    ShardingError,
    StrategyError,
    TfdistributeError,
    UnsupportedError,
)
from tfdistribute.launch.schedulers.slurm.cluster import SlurmCluster
from tfdistribute.run_config import (
    RULES,
    RunContext,
    RunSettings,
    check_settings_of_tasks,
    preflight,
)
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
SERVERS = TfConfig({**CLUSTER.cluster, "ps": ("d:1",)}, "worker", 1)
LOCAL = LocalCluster(workers=2)


def fields(run: RunContext) -> list[str]:
    return [rule.field for rule in RULES if rule.broken(run)]


def test_plain_settings_keep_every_rule():
    settings = RunSettings(save_checkpoints_steps=10)
    assert fields(RunContext(settings, "train_and_evaluate", rows=100, global_batch_size=8)) == []


def test_every_rule_is_a_sentence_with_a_remedy():
    run = RunContext(RunSettings(), "train")
    for rule in RULES:
        assert rule.rule.endswith("."), rule.rule
        remedy = rule.remedy if isinstance(rule.remedy, str) else rule.remedy(run)
        assert remedy.endswith("."), remedy


@pytest.mark.parametrize(
    ("setting", "value", "shown"),
    [
        ("inter_op_parallelism_threads", 1, "inter_op_parallelism_threads = 1"),
        ("use_per_session_threads", True, "use_per_session_threads = TRUE"),
    ],
)
def test_threads_with_which_workers_wait_for_ever_are_refused(setting, value, shown):
    settings = RunSettings(strategy=MultiWorker(), session_config={setting: value})
    run = RunContext(settings, "train", tf_config=CLUSTER)
    with pytest.raises(RunConfigError) as caught:
        preflight(run)
    assert caught.value.problem.startswith(f"`session_config` has `{shown}`, with which")
    assert caught.value.argument == "session_config"
    two = replace(settings, session_config={"inter_op_parallelism_threads": 2})
    assert fields(replace(run, settings=two)) == []
    assert fields(replace(run, tf_config=ALONE)) == []


@pytest.mark.parametrize("strategy", [Mirrored(), OneDevice("CPU:0"), CentralStorage()])
def test_a_strategy_of_one_machine_is_refused_in_a_cluster(strategy: Strategy):
    run = RunContext(RunSettings(strategy=strategy), "train", tf_config=CLUSTER)
    with pytest.raises(StrategyError) as caught:
        preflight(run)
    assert "(this process is worker 1) trains with strategy_multi_worker()." in caught.value.problem
    assert (caught.value.argument, caught.value.value) == (
        "strategy",
        f"strategy_{strategy.kind}()",
    )
    assert fields(replace(run, tf_config=ALONE)) == []


@pytest.mark.parametrize(
    ("strategy", "tf_config"),
    [(MultiWorker(), CLUSTER), (ParameterServer(), SERVERS), (None, SERVERS)],
)
@pytest.mark.parametrize("verb", ["train", "train_and_evaluate"])
def test_a_task_of_a_cluster_trains(strategy: Strategy | None, tf_config: TfConfig, verb: str):
    settings = RunSettings(strategy=strategy, cluster=LOCAL)
    assert fields(RunContext(settings, verb, tf_config=tf_config)) == []


@pytest.mark.parametrize(
    ("settings", "tf_config", "error", "problem"),
    [
        (
            RunSettings(cluster=LOCAL),
            None,
            UnsupportedError,
            "this process is not one of its tasks",
        ),
        (RunSettings(strategy=MultiWorker()), None, UnsupportedError, "there is none"),
        (
            RunSettings(strategy=MultiWorker()),
            SERVERS,
            StrategyError,
            "(this process is worker 1) trains with strategy_parameter_server().",
        ),
        (
            RunSettings(strategy=ParameterServer()),
            CLUSTER,
            StrategyError,
            "(this process is worker 1) trains with strategy_multi_worker().",
        ),
        (
            RunSettings(strategy=ParameterServer(), micro_batches=4),
            SERVERS,
            RunConfigError,
            "`micro_batches` is 4, and with parameter servers each worker",
        ),
        (
            RunSettings(strategy=MultiWorker(), compile=True),
            CLUSTER,
            RunConfigError,
            "`compile` is TRUE, and the tasks of a cluster compile no steps.",
        ),
        (
            RunSettings(),
            TfConfig({"worker": ("b:1", "c:1"), "ps": ("d:1",)}, "worker", 1),
            ClusterError,
            "A cluster with parameter servers needs a chief to create its variables, and has none.",
        ),
        (
            RunSettings(strategy=MultiWorker()),
            TfConfig(CLUSTER.cluster, "evaluator", 1),
            ClusterError,
            "This process is evaluator 1, but the cluster has 1 task of this role.",
        ),
        (
            RunSettings(strategy=MultiWorker(), cluster=ClusterSpec(("a:1",), ("b:1", "x:1"))),
            CLUSTER,
            ClusterError,
            "`cluster` has other addresses than the cluster of TF_CONFIG",
        ),
    ],
)
def test_what_cannot_train_in_a_cluster_is_refused(
    settings: RunSettings, tf_config: TfConfig | None, error: type[TfdistributeError], problem: str
):
    with pytest.raises(error) as caught:
        preflight(RunContext(settings, "train_and_evaluate", tf_config=tf_config))
    assert problem in caught.value.problem
    # A verb that does not train needs no cluster.
    assert fields(RunContext(settings.for_verb("predict"), "predict")) == []


@pytest.mark.parametrize(
    ("fields", "replicas", "reason"),
    [
        ({"strategy": Mirrored()}, 2, "strategy_mirrored() has more than one device"),
        ({"steps_per_run": 1}, 1, "`steps_per_run = 1` leaves no loop of steps"),
        ({"precision": "mixed_bfloat16"}, 1, "`precision` is mixed_bfloat16"),
    ],
)
def test_settings_with_which_no_step_is_compiled_are_refused_if_it_must_be(
    fields: dict[str, Any], replicas: int, reason: str
):
    run = RunContext(RunSettings(**fields, compile=True), "train", replicas=replicas)
    with pytest.raises(RunConfigError) as caught:
        preflight(run)
    assert caught.value.problem == f"`compile` is TRUE, and {reason}."
    for other in (replace(run, verb="predict"), replace(run, settings=RunSettings(**fields))):
        preflight(other)


def test_a_worker_has_all_gpus_or_one_cpu():
    settings = RunSettings(
        strategy=MultiWorker(), cluster=LocalCluster(workers=2, devices_per_worker=2)
    )
    run = RunContext(settings, "train", tf_config=CLUSTER, devices=("/device:CPU:0",))
    with pytest.raises(StrategyError, match=r"`devices_per_worker` is 2, but .* has 1 here"):
        preflight(run)


def test_only_the_memory_of_gpus_is_limited():
    settings = RunSettings(
        strategy=MultiWorker(), cluster=LocalCluster(workers=3, memory_limit_mb=512)
    )
    run = RunContext(settings, "train", tf_config=CLUSTER, devices=("/device:CPU:0",))
    with pytest.raises(StrategyError, match=r"`memory_limit_mb` is 512, which limits .* GPUs"):
        preflight(run)
    assert fields(replace(run, devices=("/device:GPU:0",))) == []


@pytest.mark.parametrize(
    ("strategy", "cluster", "other"),
    [
        (Mirrored(), ClusterSpec(("a:1",), ("b:1",), evaluator=("c",)), "strategy_multi_worker()"),
        (OneDevice("CPU:0"), LocalCluster(1, evaluator=False), "strategy_multi_worker()"),
        (MultiWorker(), LocalCluster(2, ps=1), "strategy_parameter_server()"),
        (Mirrored(), LocalCluster(2, ps=1), "strategy_parameter_server()"),
        (ParameterServer(), LocalCluster(2), "strategy_multi_worker()"),
    ],
)
def test_a_strategy_that_does_not_suit_the_cluster_is_refused_before_tasks_start(
    strategy: Strategy, cluster: Cluster, other: str
):
    settings = RunSettings(strategy=strategy, cluster=cluster)
    with pytest.raises(StrategyError) as caught:
        check_settings_of_tasks(settings)
    own = f"strategy_{strategy.kind}()"
    assert caught.value.problem == f"`strategy` is {own}, and `cluster` trains with {other}."
    assert caught.value.remedy == "Leave `strategy` out, as in `strategy = NULL`."
    assert (caught.value.argument, caught.value.value) == ("strategy", own)
    check_settings_of_tasks(replace(settings, cluster=None))
    check_settings_of_tasks(replace(settings, strategy=None))


@pytest.mark.parametrize(
    ("strategy", "cluster"),
    [
        (MultiWorker(), LOCAL),
        (ParameterServer(), LocalCluster(workers=2, ps=1)),
        (None, LocalCluster(workers=2, ps=1)),
        (None, LocalCluster(workers=1)),
        (ParameterServer(), LocalCluster(workers=1)),
    ],
)
def test_a_strategy_that_suits_a_cluster_is_accepted(strategy: Strategy | None, cluster: Cluster):
    settings = RunSettings(strategy=strategy, cluster=cluster)
    check_settings_of_tasks(settings, "train_and_evaluate")


IMAGE = "registry.example.org/model:1"
CLUSTERS: tuple[Cluster, ...] = (
    ClusterSpec(chief=("a:1",), worker=("b:1",)),
    LOCAL,
    SshCluster(workers=2, hosts=("a", "b")),
    SlurmCluster(workers=2, nodes=2),
    RayCluster(workers=2),
    SparkCluster(workers=2, sc="sc://localhost:15002"),
    MiraiCluster(workers=2),
    KubernetesCluster(workers=2, image=IMAGE),
    VertexCluster(
        workers=2,
        image=IMAGE,
        project="my-project",
        location="europe-west4",
        staging="gs://bucket/staging",
    ),
)


def test_the_clusters_of_the_next_test_are_of_every_kind():
    known = {each for each in Cluster.kinds if not each.startswith("fake")}
    assert {each.kind for each in CLUSTERS} == known


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster.kind)
@pytest.mark.parametrize("verb", ["train", "train_and_evaluate"])
def test_a_cluster_alone_chooses_the_strategy(cluster: Any, verb: str):
    servers = ("c:1",) if isinstance(cluster, ClusterSpec) else 1
    for chosen, given in (
        (MultiWorker(), cluster),
        (ParameterServer(), replace(cluster, ps=servers)),
    ):
        settings = RunSettings(cluster=given)
        check_settings_of_tasks(settings, verb)
        run = RunContext(settings, verb, starts_tasks=True)
        assert (run.strategy, run.settings.strategy) == (chosen, None)
    assert RunContext(settings.for_verb("evaluate"), "evaluate").strategy is None


def test_tf_config_alone_chooses_the_strategy():
    for config, chosen in ((CLUSTER, MultiWorker()), (SERVERS, ParameterServer()), (ALONE, None)):
        assert RunContext(RunSettings(), "train", tf_config=config).strategy == chosen
        assert RunContext(RunSettings(), "predict", tf_config=config).strategy is None
    own = MultiWorker("ring")
    assert RunContext(RunSettings(strategy=own), "train", tf_config=CLUSTER).strategy == own


def test_a_cluster_keeps_its_strategy_when_one_worker_is_left():
    elastic = RunSettings(cluster=RayCluster(workers=(1, 2)))
    assert RunContext(elastic, "train", tf_config=ALONE).strategy == MultiWorker()


def test_one_worker_with_several_devices_has_a_strategy():
    one = LocalCluster(workers=1)
    for cluster, chosen in ((one, None), (replace(one, devices_per_worker=2), MultiWorker())):
        run = RunContext(RunSettings(cluster=cluster), "train", starts_tasks=True)
        assert run.strategy == chosen


@pytest.mark.parametrize("strategy", [MultiWorker(), None])
def test_more_devices_than_a_task_can_have_are_refused_before_tasks_start(
    strategy: Strategy | None,
):
    cpu = ("/device:CPU:0",)
    cluster = LocalCluster(workers=2, devices_per_worker=2)
    settings = RunSettings(strategy=strategy, cluster=cluster)
    with pytest.raises(StrategyError, match="`devices_per_worker` is 2"):
        check_settings_of_tasks(settings, devices=cpu)
    limited = replace(settings, cluster=LocalCluster(workers=2, memory_limit_mb=100))
    with pytest.raises(StrategyError, match="`memory_limit_mb` is 100"):
        check_settings_of_tasks(limited, devices=cpu)
    for devices in ((), ("/device:GPU:0", "/device:GPU:1")):
        check_settings_of_tasks(settings, devices=devices)


def test_a_job_is_checked_by_all_rules_before_it_starts():
    with pytest.raises(RunConfigError, match="the tasks of a cluster compile no steps"):
        check_settings_of_tasks(RunSettings(cluster=LOCAL, compile=True))


@pytest.mark.parametrize("verb", ["evaluate", "train_and_evaluate"])
def test_estimators_of_version_1_are_not_evaluated_under_a_strategy(verb: str):
    run = RunContext(RunSettings(eval_distribute=OneDevice("CPU:0")), verb, v1_canned=True)
    with pytest.raises(RunConfigError, match="fails in evaluation") as caught:
        preflight(run)
    assert caught.value.remedy == "Use `eval_distribute = NULL`; the result is the same."
    assert fields(replace(run, settings=RunSettings())) == []


@pytest.mark.parametrize(("rows", "batch"), [(30, 8), (4, 8), (None, 8), (32, None)])
def test_an_odd_last_batch_is_refused_in_distributed_evaluation(
    rows: int | None, batch: int | None
):
    settings = RunSettings(eval_distribute=Mirrored(2))
    run = RunContext(settings, "evaluate", rows=rows, global_batch_size=batch, replicas=2)
    with pytest.raises(ShardingError, match="counts an odd last batch wrongly") as caught:
        preflight(run)
    assert caught.value.argument == "eval_distribute"
    assert fields(replace(run, settings=RunSettings(eval_distribute=OneDevice("CPU:0")))) == []
    assert fields(replace(run, settings=RunSettings())) == []
    assert fields(replace(run, rows=32, global_batch_size=8)) == []


def test_the_most_fundamental_refusal_comes_first_and_all_can_be_listed():
    settings = RunSettings(
        strategy=Mirrored(2), cluster=ClusterSpec(chief=("x:1",), worker=("b:1",))
    )
    run = RunContext(settings, "train", tf_config=CLUSTER)
    assert fields(run) == ["strategy", "cluster"]
    with pytest.raises(StrategyError):
        preflight(run)
