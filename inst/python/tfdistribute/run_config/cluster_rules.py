"""The rules of clusters: who takes part, and with which strategy. Plain Python."""

from __future__ import annotations

from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec, LocalCluster
from tfdistribute.errors import ClusterError, StrategyError, UnsupportedError
from tfdistribute.run_config.circumstances import Circumstances
from tfdistribute.run_config.rule import Rule, on_one_machine, task, trains, unchanged, word
from tfdistribute.run_config.settings import RunSettings
from tfdistribute.strategies import MultiWorker, ParameterServer
from tfdistribute.strategies.device_names import kind_of, short


def _servers(circumstances: Circumstances) -> int:
    config = circumstances.tf_config
    return 0 if config is None else len(config.cluster.get("ps", ()))


def _in_cluster(settings: RunSettings) -> bool:
    return isinstance(settings.train_distribute, (MultiWorker, ParameterServer))


def _devices_wanted(settings: RunSettings) -> int:
    return settings.cluster.devices_per_worker if isinstance(settings.cluster, LocalCluster) else 1


def _memory_limit_mb(settings: RunSettings) -> float | None:
    return settings.cluster.memory_limit_mb if isinstance(settings.cluster, LocalCluster) else None


def _is_another_cluster(settings: RunSettings, circumstances: Circumstances) -> bool:
    described, config = settings.cluster, circumstances.tf_config
    if config is None or not isinstance(described, ClusterSpec):
        return False
    listed = {role: each for role, each in described.addresses.items() if role != EVALUATOR}
    return listed != {role: each for role, each in config.cluster.items() if role != EVALUATOR}


CLUSTER_RULES: tuple[Rule, ...] = (
    Rule(
        field="train_distribute",
        trap=15,
        rule="A strategy of one machine is not used by a task of a cluster: its chief would train alone "
        "and all others wait for ever.",
        broken=lambda s, c: c.tasks > 1 and on_one_machine(s),
        message=lambda s, c: (
            f"`train_distribute` is {word(s.train_distribute)}, which uses one machine, but "
            f"TF_CONFIG names a cluster of {c.tasks} tasks, of which this process is {task(c)}."
        ),
        remedy='Unset TF_CONFIG to train on this machine alone: Sys.unsetenv("TF_CONFIG") before the '
        "first training.",
        refusal=StrategyError,
    ),
    Rule(
        field="TF_CONFIG",
        trap=5,
        rule="There is one evaluator, and it is number 0.",
        broken=lambda s, c: (
            c.tf_config is not None
            and c.tf_config.task_type == "evaluator"
            and c.tf_config.task_index > 0
        ),
        message=lambda s, c: f"TF_CONFIG says that this process is {task(c)}, a second evaluator.",
        remedy="Start one evaluator, with the index 0.",
        refusal=ClusterError,
    ),
    Rule(
        field="cluster",
        trap=16,
        rule="A task of TF_CONFIG trains in the cluster of TF_CONFIG; a cluster with other addresses is another one.",
        broken=lambda s, c: _is_another_cluster(s, c),
        message=lambda s, c: (
            f"`cluster` has other addresses than TF_CONFIG, which says that this process is {task(c)}."
        ),
        remedy="Leave `cluster` out of run_config(), or unset TF_CONFIG.",
        refusal=ClusterError,
    ),
    Rule(
        field="cluster",
        trap=16,
        rule="A cluster is several processes, each of which knows its own task.",
        broken=lambda s, c: s.cluster is not None and c.tf_config is None and trains(c),
        message=lambda s, c: f"`cluster` is {s.cluster}, and this process is none of its tasks.",
        remedy="Start the script in each task with TF_CONFIG, as as_tf_config() writes it, or call launch().",
        refusal=UnsupportedError,
    ),
    Rule(
        field="train_distribute",
        trap=5,
        rule="strategy_multi_worker() and strategy_parameter_server() train in a cluster.",
        broken=lambda s, c: _in_cluster(s) and c.tf_config is None and s.cluster is None,
        message=lambda s, c: (
            f"`train_distribute` is {word(s.train_distribute)}, which trains in a cluster, and there is none: "
            "`cluster` is NULL and TF_CONFIG is not set."
        ),
        remedy="Give run_config(cluster = local_cluster(workers = 2)), or use strategy_mirrored() on this machine.",
        refusal=UnsupportedError,
    ),
    Rule(
        field="train_distribute",
        trap=5,
        rule="strategy_multi_worker() keeps the variables in the workers, and has no parameter servers.",
        broken=lambda s, c: isinstance(s.train_distribute, MultiWorker) and _servers(c) > 0,
        message=lambda s, c: (
            f"`train_distribute` is strategy_multi_worker(), but the cluster of TF_CONFIG has {_servers(c)} "
            'parameter servers ("ps").'
        ),
        remedy='Use strategy_parameter_server(), or leave "ps" out of the cluster.',
        refusal=StrategyError,
    ),
    Rule(
        field="train_distribute",
        trap=5,
        rule="Several workers train with parameter servers, or with strategy_multi_worker(); otherwise each would "
        "train a model of its own.",
        broken=lambda s, c: (
            c.tasks > 1
            and trains(c)
            and not on_one_machine(s)
            and not isinstance(s.train_distribute, MultiWorker)
            and _servers(c) == 0
        ),
        message=lambda s, c: (
            f"`train_distribute` is {word(s.train_distribute)}, but the cluster of TF_CONFIG, of which this process "
            f"is {task(c)}, has no parameter servers."
        ),
        remedy='Use strategy_multi_worker(), or add "ps" to the cluster.',
        refusal=StrategyError,
    ),
    Rule(
        field="TF_CONFIG",
        trap=5,
        rule="With parameter servers there is a chief, who gives the variables their first values and writes the "
        "checkpoints.",
        broken=lambda s, c: (
            _servers(c) > 0
            and c.tf_config is not None
            and len(c.tf_config.cluster.get("chief", ())) != 1
        ),
        message=lambda s, c: (
            'The cluster of TF_CONFIG has parameter servers ("ps") and not one "chief".'
        ),
        remedy='Name one address as "chief".',
        refusal=ClusterError,
    ),
    Rule(
        field="cluster",
        trap=5,
        rule="A worker of strategy_multi_worker() or strategy_parameter_server() has all GPUs of its machine, or one "
        "CPU device.",
        broken=lambda s, c: (
            _in_cluster(s) and bool(c.devices) and _devices_wanted(s) > len(c.devices)
        ),
        message=lambda s, c: (
            f"`devices_per_worker` is {_devices_wanted(s)}, but a worker of {word(s.train_distribute)} has "
            f"{len(c.devices)} here ({', '.join(short(d) for d in c.devices)})."
        ),
        remedy="Use more workers with one device each.",
        refusal=StrategyError,
    ),
    Rule(
        field="cluster",
        trap=5,
        rule="Memory is limited of GPUs; TensorFlow has no limit for a CPU.",
        broken=lambda s, c: (
            _memory_limit_mb(s) is not None
            and bool(c.devices)
            and not any(kind_of(device) == "GPU" for device in c.devices)
        ),
        message=lambda s, c: (
            f"`memory_limit_mb` is {_memory_limit_mb(s):g}, which limits the memory of GPUs, and TensorFlow sees no "
            "GPU on this machine."
        ),
        remedy="Leave `memory_limit_mb` out of local_cluster().",
        refusal=StrategyError,
    ),
    Rule(
        field="train_distribute",
        trap=5,
        rule="In a cluster only train_and_evaluate trains.",
        broken=lambda s, c: c.tasks > 1 and c.verb == "train",
        message=lambda s, c: (
            f"TensorFlow's train() does not train in a cluster, in which this process is {task(c)}."
        ),
        remedy="It is performed as train_and_evaluate without an evaluation.",
        repair=unchanged,
    ),
)
