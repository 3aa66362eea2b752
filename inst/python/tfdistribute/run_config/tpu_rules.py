"""Rules for training on a TPU, which cannot compile everything."""

from tfdistribute.errors import InputError, ShardingError, StrategyError
from tfdistribute.rules import Finding
from tfdistribute.run_config.rule import SettingsRule
from tfdistribute.run_config.settings import FLOAT_32, RunContext
from tfdistribute.strategies import Tpu


def _tpu(run: RunContext) -> Tpu | None:
    return run.strategy if run.trains and isinstance(run.strategy, Tpu) else None


def _problem(run: RunContext) -> Finding | None:
    strategy = _tpu(run)
    return None if strategy is None else strategy.problem()


def _steps(run: RunContext) -> int:
    strategy = _tpu(run)
    if strategy is None:
        return 1
    return int(strategy.in_run(run.settings.steps_per_run, _save_interval(run)).steps_per_run)


def _save_interval(run: RunContext) -> int | None:
    return run.settings.save_checkpoints_steps


def _examples(run: RunContext) -> int | None:
    return None if run.rows is None or run.epochs is None else run.rows * run.epochs


def _has_odd_batch(run: RunContext) -> bool:
    if _tpu(run) is None or run.epochs is None or run.global_batch_size is None:
        return False
    examples = _examples(run)
    return examples is None or examples % run.global_batch_size != 0


def _odd_batch(run: RunContext) -> str:
    examples, size = _examples(run), run.global_batch_size
    reason = (
        "the number of rows is not known"
        if examples is None
        else f"{examples} rows are not a multiple of `batch_size` ({size})"
        if run.epochs == 1
        else f"{run.rows} rows in {run.epochs} epochs are not a multiple of `batch_size` ({size})"
    )
    return f"A TPU trains on batches of one size, and {reason}."


def _without_odd_batch(run: RunContext) -> str:
    examples, size = _examples(run), run.global_batch_size or 1
    endless = "Let the input repeat without end (`epochs = NULL`) and give `steps`"
    if examples is None or examples < size:
        return f"{endless}."
    return f"{endless}: {examples // size} steps leave out {examples % size} rows."


TPU_RULES: tuple[SettingsRule, ...] = (
    SettingsRule(
        field="strategy",
        rule="strategy_tpu() trains on a machine with a TPU, its driver and a TensorFlow that was built for it.",
        broken=lambda run: _problem(run) is not None,
        message=lambda run: (
            problem.message if (problem := _problem(run)) else "Nothing is missing."
        ),
        remedy=lambda run: problem.fix if (problem := _problem(run)) else "Use it.",
        refusal=StrategyError,
    ),
    SettingsRule(
        field="eval_distribute",
        rule="Evaluation is on the host's CPU, where all metrics of TensorFlow can be computed.",
        broken=lambda run: isinstance(run.settings.eval_distribute, Tpu),
        message=lambda run: (
            "`eval_distribute` is strategy_tpu(), which trains; evaluation runs on the host's CPU."
        ),
        remedy="Use `eval_distribute = NULL`.",
    ),
    SettingsRule(
        field="micro_batches",
        rule="A TPU computes a replica's batch as a whole.",
        broken=lambda run: _tpu(run) is not None and run.settings.micro_batches > 1,
        message=lambda run: (
            f"`micro_batches` is {run.settings.micro_batches}, and a TPU computes a replica's batch as a whole."
        ),
        remedy="Use a smaller `batch_size`, or pipeline() in the model function.",
    ),
    SettingsRule(
        field="precision",
        rule="A TPU chooses the precision of its products.",
        broken=lambda run: _tpu(run) is not None and run.settings.precision != FLOAT_32,
        message=lambda run: (
            f'`precision` is "{run.settings.precision}", and a TPU always multiplies in bfloat16.'
        ),
        remedy='Use `precision = "float32"`, in which variables and sums stay.',
    ),
    SettingsRule(
        field="save_checkpoints_steps",
        rule="Checkpoints are written when the TPU has returned to the host.",
        broken=lambda run: (_save_interval(run) or 0) % _steps(run) != 0,
        message=lambda run: (
            f"`save_checkpoints_steps` is {_save_interval(run)}, and the TPU returns to the host after every "
            f"{_steps(run)} steps (`steps_per_run`)."
        ),
        remedy='Use a multiple, or `steps_per_run = "auto"`.',
    ),
    SettingsRule(
        field="strategy",
        rule="Features and labels on a TPU are numbers.",
        broken=lambda run: _tpu(run) is not None and bool(run.strings),
        message=lambda run: (
            f"A TPU cannot compute with strings, which {', '.join(f'`{name}`' for name in run.strings[:5])} "
            f"{'holds' if len(run.strings) == 1 else 'hold'}."
        ),
        remedy='Read factors as numbers with `factors = "codes"` in input_fn(), convert strings with '
        "`transform`, or leave them out.",
        refusal=InputError,
    ),
    SettingsRule(
        field="strategy",
        rule="All batches on a TPU have one size.",
        broken=_has_odd_batch,
        message=_odd_batch,
        remedy=_without_odd_batch,
        refusal=ShardingError,
    ),
)
