"""Rules for runs that TensorFlow would accept but that would fail or hang, and the check of a run against them."""

from tfdistribute.cluster.checks import check_at_start
from tfdistribute.errors import ShardingError
from tfdistribute.run_config.cluster_rules import CLUSTER_RULES
from tfdistribute.run_config.rule import SettingsRule, in_words
from tfdistribute.run_config.settings import FLOAT_32, RunContext, RunSettings
from tfdistribute.run_config.tpu_rules import TPU_RULES
from tfdistribute.strategies import (
    CentralStorage,
    Mirrored,
    ModelParallel,
    OneDevice,
    ParameterServer,
    Tpu,
)


def _has_replicas(run: RunContext) -> bool:
    strategy = run.settings.eval_distribute
    if strategy is None or isinstance(strategy, (OneDevice, ModelParallel)):
        return False
    if isinstance(strategy, (Mirrored, CentralStorage)):
        described = strategy.described_replicas()
        return max(len(described or ()), run.replicas) > 1
    return True


def _divides(run: RunContext) -> bool:
    return (
        run.rows is not None
        and run.global_batch_size is not None
        and run.rows % run.global_batch_size == 0
    )


def _why_not_compiled(run: RunContext) -> str | None:
    settings = run.settings
    reasons = {
        "the tasks of a cluster compile no steps": run.tf_config is not None or settings.cluster,
        f"{in_words(run.strategy)} has more than one device": run.replicas > 1,
        "`steps_per_run = 1` leaves no loop of steps": settings.steps_per_run == 1,
        f"`precision` is {settings.precision}": settings.precision != FLOAT_32,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


_RULES: tuple[SettingsRule, ...] = (
    SettingsRule(
        field="micro_batches",
        rule="A step on a whole batch needs a strategy whose devices take each step together.",
        broken=lambda run: (
            run.trains
            and run.settings.micro_batches > 1
            and (isinstance(run.strategy, ParameterServer) or run.servers > 0)
        ),
        message=lambda run: (
            f"`micro_batches` is {run.settings.micro_batches}, and with parameter servers each worker trains on "
            "batches of its own: there is no step on a whole batch."
        ),
        remedy="Leave `ps` out of the cluster, or use a smaller `batch_size`.",
    ),
    SettingsRule(
        field="compile",
        rule="XLA compiles the loop of steps of one process and one device.",
        broken=lambda run: (
            run.trains and run.settings.compile is True and _why_not_compiled(run) is not None
        ),
        message=lambda run: f"`compile` is TRUE, and {_why_not_compiled(run)}.",
        remedy='Use `compile = "auto"`, which compiles the trainings that can be.',
    ),
    SettingsRule(
        field="eval_distribute",
        rule="An estimator of tf.compat.v1.estimator is evaluated without a strategy.",
        broken=lambda run: (
            run.v1_canned
            and run.verb in ("evaluate", "train_and_evaluate")
            and run.settings.eval_distribute is not None
        ),
        message=lambda run: (
            f"`eval_distribute` is {in_words(run.settings.eval_distribute)}, under which an estimator of "
            "tf.compat.v1.estimator fails in evaluation."
        ),
        remedy="Use `eval_distribute = NULL`; the result is the same.",
    ),
    SettingsRule(
        field="eval_distribute",
        rule="Under eval_distribute the number of rows is known and a multiple of the batch size; TensorFlow counts "
        "an odd last batch in full, in half or not at all.",
        broken=lambda run: run.verb == "evaluate" and _has_replicas(run) and not _divides(run),
        message=lambda run: (
            f"Evaluation under {in_words(run.settings.eval_distribute)} counts an odd last batch wrongly, and "
            + (
                "the number of rows or the batch size is not known."
                if run.rows is None or run.global_batch_size is None
                else f"{run.rows} rows are not a multiple of the batch size {run.global_batch_size}."
            )
        ),
        remedy="Use `eval_distribute = NULL`, which counts every row once.",
        refusal=ShardingError,
    ),
)


# In order of precedence: tasks, devices, model, data.
RULES = (*CLUSTER_RULES, *TPU_RULES, *_RULES)


def preflight(run: RunContext) -> None:
    """Reject a run that breaks a rule, naming the most fundamental one; the rules of its cluster come first."""
    if run.tf_config is not None:
        check_at_start(run.tf_config)
    on_tpu = any(isinstance(s, Tpu) for s in (run.strategy, run.settings.eval_distribute))
    of_cluster, of_tpu = CLUSTER_RULES * run.concerns_cluster, TPU_RULES * on_tpu
    for rule in (*of_cluster, *of_tpu, *_RULES):
        if rule.broken(run):
            raise rule.error(run)


def check_settings_of_tasks(
    settings: RunSettings, verb: str = "train", devices: tuple[str, ...] = ()
) -> None:
    """Reject settings that the tasks of their cluster could not train with, before they start.

    ``devices`` are the possible devices of a task, empty if unknown. TensorFlow is not needed.
    """
    if settings.cluster is not None:
        preflight(RunContext(settings.for_verb(verb), verb, starts_tasks=True, devices=devices))
