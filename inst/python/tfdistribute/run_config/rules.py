"""The rules that settings must keep, as one table: what TensorFlow would accept and then fail on.

Each rule either repairs the settings and leaves a note, or refuses them. Rules whose repair is done
elsewhere (a hook, the session's configuration) only leave the note. Plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec, LocalCluster
from tfdistribute.errors import (
    ClusterError,
    RunConfigError,
    ShardingError,
    StrategyError,
    TfdistributeError,
    UnsupportedError,
)
from tfdistribute.run_config.circumstances import Circumstances
from tfdistribute.run_config.settings import TRAINING, RunSettings
from tfdistribute.strategies import (
    CentralStorage,
    Mirrored,
    MultiWorker,
    OneDevice,
    ParameterServer,
    Strategy,
    Tpu,
)
from tfdistribute.strategies.device_names import cpus_named, short

_OWN_MODEL_FUNCTION = ("custom", "keras")

Test = Callable[[RunSettings, Circumstances], bool]
Text = Callable[[RunSettings, Circumstances], str]
Repair = Callable[[RunSettings, Circumstances], RunSettings]


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    Args:
        field: The setting, as users write it.
        trap: Number of the trap of TensorFlow that the rule answers.
        rule: What must hold.
        broken: Says whether it does not hold.
        message: What was found, with values.
        remedy: What the user does, or for a repair what was done.
        repair: Makes the settings right; None where the rule refuses.
        refusal: The error's class, where the rule refuses.
    """

    field: str
    trap: int
    rule: str
    broken: Test
    message: Text
    remedy: str
    repair: Repair | None = None
    refusal: type[TfdistributeError] = RunConfigError

    @property
    def answer(self) -> str:
        """Say what becomes of broken settings: "repaired" or "refused"."""
        return "refused" if self.repair is None else "repaired"


def _word(strategy: Strategy | None) -> str:
    return "no strategy" if strategy is None else f"strategy_{strategy.kind}()"


def _task(circumstances: Circumstances) -> str:
    return "no task" if circumstances.tf_config is None else circumstances.tf_config.task


def _servers(circumstances: Circumstances) -> int:
    config = circumstances.tf_config
    return 0 if config is None else len(config.cluster.get("ps", ()))


def _in_cluster(settings: RunSettings) -> bool:
    return isinstance(settings.train_distribute, (MultiWorker, ParameterServer))


def _devices_wanted(settings: RunSettings) -> int:
    return settings.cluster.devices_per_worker if isinstance(settings.cluster, LocalCluster) else 1


def _is_another_cluster(settings: RunSettings, circumstances: Circumstances) -> bool:
    described, config = settings.cluster, circumstances.tf_config
    if config is None or not isinstance(described, ClusterSpec):
        return False
    listed = {role: each for role, each in described.addresses.items() if role != EVALUATOR}
    return listed != {role: each for role, each in config.cluster.items() if role != EVALUATOR}


def _on_one_machine(settings: RunSettings) -> bool:
    return isinstance(settings.train_distribute, (Mirrored, OneDevice, CentralStorage))


def _several(strategy: Strategy | None, circumstances: Circumstances) -> bool:
    """Say whether a strategy has several replicas, as far as is known."""
    if strategy is None or isinstance(strategy, OneDevice):
        return False
    if isinstance(strategy, (Mirrored, CentralStorage)):
        named = len(strategy.devices) if isinstance(strategy.devices, tuple) else strategy.devices
        return max(named or 1, circumstances.replicas) > 1
    return True


def _trains(circumstances: Circumstances) -> bool:
    return circumstances.verb in TRAINING


def _canned(circumstances: Circumstances) -> bool:
    kind = circumstances.model_kind
    return kind is not None and kind not in _OWN_MODEL_FUNCTION


def _cpus(circumstances: Circumstances) -> int:
    return cpus_named(circumstances.devices)


def _loses_the_tail(settings: RunSettings, circumstances: Circumstances) -> bool:
    several = circumstances.verb == "evaluate" and _several(settings.eval_distribute, circumstances)
    if not several:
        return False
    rows, batch = circumstances.rows, circumstances.global_batch_size
    return rows is None or batch is None or rows % batch != 0


def _too_few_rows(settings: RunSettings, circumstances: Circumstances) -> bool:
    distributed = _trains(circumstances) and settings.train_distribute is not None
    return (
        distributed
        and circumstances.rows is not None
        and circumstances.rows < circumstances.replicas
    )


def _unchanged(settings: RunSettings, circumstances: Circumstances) -> RunSettings:
    del circumstances
    return settings


# The order is that of raising: who takes part, then which devices, then the model, then the data.
RULES: tuple[Rule, ...] = (
    Rule(
        field="train_distribute",
        trap=15,
        rule="A strategy of one machine is not used by a task of a cluster: its chief would train alone "
        "and all others wait for ever.",
        broken=lambda s, c: c.tasks > 1 and _on_one_machine(s),
        message=lambda s, c: (
            f"`train_distribute` is {_word(s.train_distribute)}, which uses one machine, but "
            f"TF_CONFIG names a cluster of {c.tasks} tasks, of which this process is {_task(c)}."
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
        message=lambda s, c: f"TF_CONFIG says that this process is {_task(c)}, a second evaluator.",
        remedy="Start one evaluator, with the index 0.",
        refusal=ClusterError,
    ),
    Rule(
        field="cluster",
        trap=16,
        rule="A task of TF_CONFIG trains in the cluster of TF_CONFIG; a cluster with other addresses is another one.",
        broken=lambda s, c: _is_another_cluster(s, c),
        message=lambda s, c: (
            f"`cluster` has other addresses than TF_CONFIG, which says that this process is {_task(c)}."
        ),
        remedy="Leave `cluster` out of run_config(), or unset TF_CONFIG.",
        refusal=ClusterError,
    ),
    Rule(
        field="cluster",
        trap=16,
        rule="A cluster is several processes, each of which knows its own task.",
        broken=lambda s, c: s.cluster is not None and c.tf_config is None and c.verb in TRAINING,
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
            f"`train_distribute` is {_word(s.train_distribute)}, which trains in a cluster, and there is none: "
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
            and not _on_one_machine(s)
            and not isinstance(s.train_distribute, MultiWorker)
            and _servers(c) == 0
        ),
        message=lambda s, c: (
            f"`train_distribute` is {_word(s.train_distribute)}, but the cluster of TF_CONFIG, of which this process "
            f"is {_task(c)}, has no parameter servers."
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
            f"`devices_per_worker` is {_devices_wanted(s)}, but a worker of {_word(s.train_distribute)} has "
            f"{len(c.devices)} here ({', '.join(short(d) for d in c.devices)})."
        ),
        remedy="Use more workers with one device each.",
        refusal=StrategyError,
    ),
    Rule(
        field="train_distribute",
        trap=5,
        rule="In a cluster only train_and_evaluate trains.",
        broken=lambda s, c: c.tasks > 1 and c.verb == "train",
        message=lambda s, c: (
            f"TensorFlow's train() does not train in a cluster, in which this process is {_task(c)}."
        ),
        remedy="It is performed as train_and_evaluate without an evaluation.",
        repair=_unchanged,
    ),
    Rule(
        field="session_config",
        trap=8,
        rule="A session_config does not remove TensorFlow's defaults: soft placement, and the device "
        "filters that keep tasks of a parameter server cluster from waiting for each other.",
        broken=lambda s, c: bool(s.session_config) and c.tf_config is not None,
        message=lambda s, c: (
            f"`session_config` alone would remove the device filters of {_task(c)} in TF_CONFIG."
        ),
        remedy="It is added to TensorFlow's default instead.",
        repair=_unchanged,
    ),
    Rule(
        field="train_distribute",
        trap=1,
        rule="A session has as many CPU devices as a strategy names; with fewer, mirrored training waits "
        "for ever.",
        broken=lambda s, c: _cpus(c) > 1,
        message=lambda s, c: (
            f"The strategy uses {', '.join(short(d) for d in c.devices)}, and a session has "
            "one CPU device."
        ),
        remedy="session_config$device_count$CPU is raised to the number that is named.",
        repair=lambda s, c: s.with_cpu_devices(_cpus(c)),
    ),
    Rule(
        field="session_config",
        trap=14,
        rule="A session has as many CPU devices as a model names; with fewer, everything runs on CPU:0 "
        "without a word.",
        broken=lambda s, c: c.cpu_devices_in_model > 1,
        message=lambda s, c: (
            f"The model places operations on CPU:{c.cpu_devices_in_model - 1}, and a session "
            "has one CPU device."
        ),
        remedy="session_config$device_count$CPU is raised to the number that is named.",
        repair=lambda s, c: s.with_cpu_devices(c.cpu_devices_in_model),
    ),
    Rule(
        field="train_distribute",
        trap=4,
        rule="Under strategy_central_storage() with several devices each variable is saved once; "
        'TensorFlow fails with "At least two variables have the same name".',
        broken=lambda s, c: any(
            isinstance(strategy, CentralStorage) and _several(strategy, c)
            for strategy in (s.train_distribute, s.eval_distribute)
        ),
        message=lambda s, c: (
            "strategy_central_storage() with several devices gives each variable to the "
            "saver twice."
        ),
        remedy="A hook keeps one of each.",
        repair=_unchanged,
    ),
    Rule(
        field="optimizer",
        trap=9,
        rule="A canned model is not given an optimizer of the new Keras or of TensorFlow 1.",
        broken=lambda s, c: (
            _trains(c)
            and _canned(c)
            and (
                c.optimizer_kind == "new_keras_instance"
                or (c.optimizer_kind == "v1" and not c.v1_canned)
            )
        ),
        message=lambda s, c: (
            "`optimizer` is a "
            f"{'tf.compat.v1.train' if c.optimizer_kind == 'v1' else 'tf.keras.optimizers'} optimizer, which "
            f"{c.model_kind}() does not accept."
        ),
        remedy='Give its name, or a list such as list("adam", learning_rate = 0.01), or an optimizer of '
        "tf.keras.optimizers.legacy.",
    ),
    Rule(
        field="optimizer",
        trap=9,
        rule="A canned model is given a new Keras optimizer for each graph; one instance fails under a "
        "strategy and in the second training.",
        broken=lambda s, c: _trains(c) and _canned(c) and c.optimizer_kind == "keras_instance",
        message=lambda s, c: (
            "`optimizer` is one Keras optimizer object, which cannot be used in two graphs."
        ),
        remedy="A new one with the same settings is made for each.",
        repair=_unchanged,
    ),
    Rule(
        field="hooks",
        trap=13,
        rule="The early stopping hooks of tf.estimator.experimental are not used under a strategy of "
        "several replicas: they fetch a value that only a single replica has.",
        broken=lambda s, c: (
            _trains(c)
            and c.early_stopping_hooks
            and isinstance(
                s.train_distribute, (Mirrored, CentralStorage, MultiWorker, ParameterServer, Tpu)
            )
        ),
        message=lambda s, c: (
            "`hooks` holds an early stopping hook of tf.estimator.experimental, which fails "
            f"under {_word(s.train_distribute)}."
        ),
        remedy="Leave the hook out and give `steps` or `max_steps`, or train without a strategy.",
    ),
    Rule(
        field="eval_distribute",
        trap=20,
        rule="An estimator of tf.compat.v1.estimator is evaluated without a strategy.",
        broken=lambda s, c: (
            c.v1_canned
            and c.verb in ("evaluate", "train_and_evaluate")
            and s.eval_distribute is not None
        ),
        message=lambda s, c: (
            f"`eval_distribute` is {_word(s.eval_distribute)}, under which an estimator of "
            "tf.compat.v1.estimator fails in evaluation."
        ),
        remedy="Use `eval_distribute = NULL`; the result is the same.",
    ),
    Rule(
        field="train_distribute",
        trap=11,
        rule="There is at least one row per replica; with fewer, TensorFlow trains 0 steps and only warns.",
        broken=_too_few_rows,
        message=lambda s, c: (
            f"The input has {c.rows} row{'' if c.rows == 1 else 's'}, and "
            f"{_word(s.train_distribute)} trains {c.replicas} replicas, each of which needs one."
        ),
        remedy="Train on more rows, or on fewer devices.",
        refusal=ShardingError,
    ),
    Rule(
        field="eval_distribute",
        trap=11,
        rule="Under eval_distribute the rows are known and divide evenly by the batch; TensorFlow counts "
        "an odd last batch in full, in half or not at all.",
        broken=_loses_the_tail,
        message=lambda s, c: (
            f"Evaluation under {_word(s.eval_distribute)} counts an odd last batch wrongly, and "
            + (
                "the number of rows or the batch size is not known."
                if c.rows is None or c.global_batch_size is None
                else f"{c.rows} rows are not a multiple of the batch size {c.global_batch_size}."
            )
        ),
        remedy="Use `eval_distribute = NULL`, which counts every row once.",
        refusal=ShardingError,
    ),
)
