"""The rules for training on a TPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tfdistribute.errors import InputError, RunConfigError, ShardingError, TfdistributeError
from tfdistribute.run_config import RULES, RunContext, RunSettings, preflight
from tfdistribute.strategies import Mirrored, Tpu


@pytest.fixture(autouse=True)
def machine_with_a_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tpu, "missing_parts", lambda self: [])


def run(rows: int | None = None, epochs: int | None = None, **fields: Any) -> RunContext:
    settings = RunSettings(strategy=Tpu(), **fields)
    return RunContext(settings, "train", rows=rows, epochs=epochs, global_batch_size=16)


@pytest.mark.parametrize(
    "context",
    [
        run(),
        run(rows=100),
        run(rows=96, epochs=1),
        run(rows=24, epochs=2),
        run(save_checkpoints_steps=250),
        replace(run(rows=100, epochs=1, precision="mixed_bfloat16"), verb="predict"),
    ],
)
def test_what_a_tpu_can_train_is_accepted(context: RunContext):
    assert not any(rule.broken(context) for rule in RULES)


@pytest.mark.parametrize(
    ("context", "error", "problem", "remedy"),
    [
        (
            run(rows=100, epochs=1),
            ShardingError,
            "A TPU trains on batches of one size, and 100 rows are not a multiple of `batch_size` (16).",
            "Let the input repeat without end (`epochs = NULL`) and give `steps`: 6 steps leave out 4 rows.",
        ),
        (
            run(rows=20, epochs=3),
            ShardingError,
            "20 rows in 3 epochs are not a multiple of `batch_size` (16).",
            "3 steps leave out 12 rows.",
        ),
        (
            run(rows=10, epochs=1),
            ShardingError,
            "10 rows are not a multiple of `batch_size` (16).",
            "(`epochs = NULL`) and give `steps`.",
        ),
        (run(epochs=1), ShardingError, "the number of rows is not known.", "`epochs = NULL`"),
        (
            replace(run(), strings=("cut", "color")),
            InputError,
            "A TPU cannot compute with strings, which `cut`, `color` hold.",
            '`factors = "codes"` in input_fn()',
        ),
        (
            run(micro_batches=4),
            RunConfigError,
            "`micro_batches` is 4, and a TPU computes a replica's batch as a whole.",
            "smaller `batch_size`",
        ),
        (
            run(precision="mixed_float16"),
            RunConfigError,
            '`precision` is "mixed_float16", and a TPU always multiplies in bfloat16.',
            '`precision = "float32"`',
        ),
        (
            run(eval_distribute=Tpu()),
            RunConfigError,
            "`eval_distribute` is strategy_tpu(), which trains; evaluation runs on the host's CPU.",
            "`eval_distribute = NULL`",
        ),
        (
            run(save_checkpoints_steps=250, steps_per_run=100),
            RunConfigError,
            "`save_checkpoints_steps` is 250, and the TPU returns to the host after every 100 steps",
            '`steps_per_run = "auto"`',
        ),
    ],
)
def test_what_a_tpu_cannot_train_is_refused(
    context: RunContext, error: type[TfdistributeError], problem: str, remedy: str
):
    with pytest.raises(error) as caught:
        preflight(context)
    assert problem in caught.value.problem
    assert remedy in str(caught.value.remedy)
    # The same data suits other strategies, unless the setting itself is the strategy.
    if context.settings.eval_distribute is None:
        other = replace(context.settings, strategy=Mirrored(2))
        preflight(replace(context, settings=other))


def test_a_tpu_is_not_part_of_a_cluster():
    context = replace(run(), starts_tasks=True)
    assert [rule.field for rule in RULES if rule.broken(context)] == ["strategy"]
