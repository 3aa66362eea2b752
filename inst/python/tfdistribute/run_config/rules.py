"""The rules that settings must keep, as one table: what TensorFlow would accept and then fail on.

Each rule either repairs the settings and leaves a note, or refuses them. Rules whose repair is done
elsewhere (a hook, the session's configuration) only leave the note. Plain Python.
"""

from __future__ import annotations

from tfdistribute.errors import ShardingError
from tfdistribute.run_config.circumstances import Circumstances
from tfdistribute.run_config.cluster_rules import CLUSTER_RULES
from tfdistribute.run_config.rule import Rule, task, trains, unchanged, word
from tfdistribute.run_config.settings import RunSettings
from tfdistribute.strategies import CentralStorage, Mirrored, OneDevice, Strategy
from tfdistribute.strategies.device_names import cpus_named, short


def _several(strategy: Strategy | None, circumstances: Circumstances) -> bool:
    """Say whether a strategy has several replicas, as far as is known."""
    if strategy is None or isinstance(strategy, OneDevice):
        return False
    if isinstance(strategy, (Mirrored, CentralStorage)):
        named = len(strategy.devices) if isinstance(strategy.devices, tuple) else strategy.devices
        return max(named or 1, circumstances.replicas) > 1
    return True


def _cpus(circumstances: Circumstances) -> int:
    return cpus_named(circumstances.devices)


def _loses_the_tail(settings: RunSettings, circumstances: Circumstances) -> bool:
    several = circumstances.verb == "evaluate" and _several(settings.eval_distribute, circumstances)
    if not several:
        return False
    rows, batch = circumstances.rows, circumstances.global_batch_size
    return rows is None or batch is None or rows % batch != 0


def _too_few_rows(settings: RunSettings, circumstances: Circumstances) -> bool:
    distributed = trains(circumstances) and settings.train_distribute is not None
    return (
        distributed
        and circumstances.rows is not None
        and circumstances.rows < circumstances.replicas
    )


# The order is that of raising: who takes part, then which devices, then the model, then the data.
RULES: tuple[Rule, ...] = (
    *CLUSTER_RULES,
    Rule(
        field="session_config",
        trap=8,
        rule="A session_config does not remove TensorFlow's defaults: soft placement, and the device "
        "filters that keep tasks of a parameter server cluster from waiting for each other.",
        broken=lambda s, c: bool(s.session_config) and c.tf_config is not None,
        message=lambda s, c: (
            f"`session_config` alone would remove the device filters of {task(c)} in TF_CONFIG."
        ),
        remedy="It is added to TensorFlow's default instead.",
        repair=unchanged,
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
        repair=unchanged,
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
            f"`eval_distribute` is {word(s.eval_distribute)}, under which an estimator of "
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
            f"{word(s.train_distribute)} trains {c.replicas} replicas, each of which needs one."
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
            f"Evaluation under {word(s.eval_distribute)} counts an odd last batch wrongly, and "
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
