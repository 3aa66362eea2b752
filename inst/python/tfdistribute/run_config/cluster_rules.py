"""Rules for clusters: tasks, and the strategies they support."""

from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec
from tfdistribute.errors import ClusterError, RunConfigError, StrategyError, UnsupportedError
from tfdistribute.run_config.rule import SettingsRule, in_words
from tfdistribute.run_config.settings import RunContext
from tfdistribute.strategies import MultiWorker, ParameterServer
from tfdistribute.strategies.device_names import device_type, short_device


def _needs_cluster(run: RunContext) -> bool:
    return isinstance(run.strategy, (MultiWorker, ParameterServer))


def _suits_cluster(run: RunContext) -> bool:
    # A single worker can hold the variables itself.
    is_alone = run.training_tasks == 1 and isinstance(run.strategy, ParameterServer)
    return is_alone or isinstance(run.strategy, type(run.strategy_of_cluster))


def _devices_per_worker(run: RunContext) -> int:
    return getattr(run.settings.cluster, "devices_per_worker", 1)


def _has_other_addresses(run: RunContext) -> bool:
    described, config = run.settings.cluster, run.tf_config
    if config is None or not isinstance(described, ClusterSpec):
        return False
    listed = {role: each for role, each in described.addresses.items() if role != EVALUATOR}
    return listed != {role: each for role, each in config.cluster.items() if role != EVALUATOR}


def _blocking_setting(run: RunContext) -> str | None:
    settings = run.settings.session_config or {}
    if settings.get("use_per_session_threads"):
        return "use_per_session_threads = TRUE"
    has_one = settings.get("inter_op_parallelism_threads") == 1
    # Parameter servers need no collective operations.
    if has_one and isinstance(run.strategy, MultiWorker):
        return "inter_op_parallelism_threads = 1"
    return None


CLUSTER_RULES: tuple[SettingsRule, ...] = (
    SettingsRule(
        field="strategy",
        rule="The tasks of a cluster train with the strategy of its roles: the chief would train alone with another, "
        "and all others wait for ever.",
        broken=lambda run: (
            run.trains
            and run.strategy is not None
            and (run.tasks > 1 or run.starts_tasks)
            and not _suits_cluster(run)
        ),
        message=lambda run: (
            f"`strategy` is {in_words(run.strategy)}, and {run.cluster_in_words} trains with "
            f"{in_words(run.strategy_of_cluster)}."
        ),
        remedy=lambda run: (
            "Leave `strategy` out, as in `strategy = NULL`."
            if run.tf_config is None
            else "Leave `strategy` out, as in `strategy = NULL`, or unset TF_CONFIG to train on this machine alone: "
            'Sys.unsetenv("TF_CONFIG") before the first training.'
        ),
        refusal=StrategyError,
    ),
    SettingsRule(
        field="session_config",
        rule="Tasks use the threads of their server, at least two with strategy_multi_worker(): otherwise an operation "
        "that waits for other tasks blocks those that they wait for.",
        broken=lambda run: (
            _needs_cluster(run)
            and run.tasks > 1
            and run.trains
            and _blocking_setting(run) is not None
        ),
        message=lambda run: (
            f"`session_config` has `{_blocking_setting(run)}`, with which the tasks of {in_words(run.strategy)} would "
            "wait for each other for ever."
        ),
        remedy="Leave this setting out. `inter_op_parallelism_threads` can be 2 or more.",
        refusal=RunConfigError,
    ),
    SettingsRule(
        field="cluster",
        rule="A task of TF_CONFIG trains in the cluster of TF_CONFIG; a cluster with other addresses is another one.",
        broken=_has_other_addresses,
        message=lambda run: f"`cluster` has other addresses than {run.cluster_in_words}.",
        remedy="Leave `cluster` out of run_config(), or unset TF_CONFIG.",
        refusal=ClusterError,
    ),
    SettingsRule(
        field="cluster",
        rule="A cluster is several processes, each of which knows its own task.",
        broken=lambda run: (
            run.settings.cluster is not None
            and run.tf_config is None
            and run.trains
            and not run.starts_tasks
        ),
        message=lambda run: (
            f"`cluster` is {run.settings.cluster}, and this process is not one of its tasks."
        ),
        remedy="Start the script in each task with TF_CONFIG, as as_tf_config() writes it, or call launch().",
        refusal=UnsupportedError,
    ),
    SettingsRule(
        field="strategy",
        rule="strategy_multi_worker() and strategy_parameter_server() train in a cluster.",
        broken=lambda run: (
            _needs_cluster(run) and run.tf_config is None and run.settings.cluster is None
        ),
        message=lambda run: (
            f"`strategy` is {in_words(run.strategy)}, which trains in a cluster, and there is none: "
            "`cluster` is NULL and TF_CONFIG is not set."
        ),
        remedy=(
            "Give run_config() a cluster, as in cluster = local_cluster(workers = 2), or use strategy_mirrored() on "
            "this machine."
        ),
        refusal=UnsupportedError,
    ),
    SettingsRule(
        field="cluster",
        rule="A worker of strategy_multi_worker() or strategy_parameter_server() has all GPUs of its machine, or one "
        "CPU device.",
        broken=lambda run: (
            _needs_cluster(run)
            and bool(run.devices)
            and _devices_per_worker(run) > len(run.devices)
        ),
        message=lambda run: (
            f"`devices_per_worker` is {_devices_per_worker(run)}, but a worker of {in_words(run.strategy)} has "
            f"{len(run.devices)} here ({', '.join(short_device(d) for d in run.devices)})."
        ),
        remedy="Use more workers with one device each.",
        refusal=StrategyError,
    ),
    SettingsRule(
        field="cluster",
        rule="Only the memory of GPUs can be limited; TensorFlow has no limit for a CPU.",
        broken=lambda run: (
            run.settings.memory_limit_mb is not None
            and bool(run.devices)
            and not any(device_type(device) == "GPU" for device in run.devices)
        ),
        message=lambda run: (
            f"`memory_limit_mb` is {run.settings.memory_limit_mb:g}, which limits the memory of GPUs, and TensorFlow "
            "sees no GPU on this machine."
        ),
        remedy="Leave `memory_limit_mb` out of local_cluster().",
        refusal=StrategyError,
    ),
)
