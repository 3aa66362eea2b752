"""The choice of a tabular model's end: on a part of the rows, before the training on all of them."""

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import ArgumentError, ModelError
from tfdistribute.inputs import Input
from tfdistribute.models import Tabular
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import Listener
from tfdistribute.training.model_directory import ModelDirectory
from tfdistribute.training.specs import Training, TrainSpec
from tfdistribute.training.tabular.validation import split

# The next cycle, which takes longer than all before it, follows a loss that is lower by this share.
_GAIN = 0.005
# The checkpoint at the end of each training is enough.
_RARELY_S = 86_400.0

Train = Callable[..., Any]
Evaluate = Callable[..., dict[str, float]]


def choose_end(
    model: Tabular,
    settings: RunSettings,
    source: Input,
    train: Train,
    evaluate: Evaluate,
    listener: Listener | None = None,
    alone: bool = True,
    validation: Input | None = None,
) -> Tabular:
    """Complete a model from its directory or from the rows, with the step at which its training ends.

    A model in a temporary directory trains on a part of the rows, or with rows for ``validation`` on all of them, first
    as a linear model, then one cycle of the rate after the other, until a cycle ends hardly better than one before. A
    temperature of class probabilities is chosen with the end. ``alone`` is whether this process may do that.

    Raises InputError if the rows are not in memory, ArgumentError if the model does not choose its end by
    ``validation``, and ModelError if this process is a task of a cluster.
    """
    if validation is not None and not model.validates:
        raise _no_choice(model)
    known: Any = model.complete_from_signature(ModelDirectory(model.model_dir).structure)
    if known.table is None or known.table.end is None:
        source = source.in_memory()
    completed = known.complete_from_input(source.facts())
    completed.check(source.facts())
    table = completed.table
    assert table is not None
    if table.end is not None:
        return completed
    if not alone:
        raise ModelError(
            "This task of a cluster cannot choose the end of the training: a validation needs one process.",
            "Train with `cluster` in run_config() from R, or give the model its `epochs`.",
            argument="epochs",
            value="NULL",
        )
    parts = _parts(completed, settings, source) if validation is None else (source, validation)
    return _choose(completed, settings, source, parts, train, evaluate, listener)


def _parts(model: Tabular, settings: RunSettings, source: Input) -> tuple[Input, Input]:
    facts, table = source.facts(), model.table
    assert table is not None and facts.label is not None and facts.rows is not None
    classes = None if facts.values is None or table.limits else facts.values(facts.label.name)
    trained, held = split(facts.rows, model.validation, settings.seed or 0, classes)
    return source.subset(trained), source.subset(held)


def _choose(
    model: Tabular,
    settings: RunSettings,
    source: Input,
    parts: tuple[Input, Input],
    train: Train,
    evaluate: Evaluate,
    listener: Listener | None,
) -> Tabular:
    table, rows, of = model.table, parts[0].facts().rows, source.facts().rows
    assert table is not None and rows is not None and of is not None
    part, judges = parts[0].repeated(table.batch_size), parts[1]
    # As many epochs as on all rows.
    steps = math.ceil(table.steps * rows / of)
    ends = engine.tabular.ends_of_cycles(steps)
    losses: list[float] = []
    temperatures: list[float | None] = []
    clock = _Clock(model.time_limit_s, ends, table.steps / steps)
    with tempfile.TemporaryDirectory(prefix="tfdistribute-validation-") as directory:
        candidate = replace(model.with_table(steps=steps), model_dir=directory)
        for end in ends:
            spec = TrainSpec(part, end)
            train(Training("train", candidate, _quiet(settings), spec, listener=listener))
            loss, temperature = _judge(evaluate(candidate, _quiet(settings), judges))
            losses.append(loss)
            temperatures.append(temperature)
            # The layers may need more than one cycle to be better than the linear model, which is the first.
            before = min(losses[1:-1], default=None)
            is_hardly_better = before is not None and losses[-1] > before - _GAIN * abs(before)
            if is_hardly_better or not clock.allows_another(len(losses)):
                break
    best = losses.index(min(losses))
    end = engine.tabular.ends_of_cycles(table.steps)[best]
    return model.with_table(end=end, losses=tuple(losses), temperature=temperatures[best])


def _no_choice(model: Tabular) -> ArgumentError:
    own = "`validation` 0" if model.epochs is None else f"`epochs` {model.epochs}"
    return ArgumentError(
        f"`validation` of train() chooses the end of the training, but the model has {own}.",
        "Leave it out, or give the model neither `epochs` nor validation = 0.",
        argument="validation",
    )


def _judge(metrics: dict[str, float]) -> tuple[float, float | None]:
    """Return the least loss, and the temperature that it needs."""
    losses = engine.heads.losses_at_temperatures(metrics)
    temperature = min(losses, key=losses.__getitem__, default=None)
    loss = metrics["average_loss"] if temperature is None else losses[temperature]
    return loss if math.isfinite(loss) else math.inf, temperature


def _quiet(settings: RunSettings) -> RunSettings:
    return replace(
        settings,
        model_dir=None,
        track=None,
        save_summary_steps=None,
        log_step_count_steps=None,
        save_checkpoints_steps=None,
        save_checkpoints_secs=_RARELY_S,
        keep_checkpoint_max=1,
    )


class _Clock:
    """Decides whether another cycle, and then the training on all rows to its end, fit into the time limit."""

    def __init__(self, limit_s: float | None, ends: list[int], growth: float) -> None:
        self._limit_s, self._ends, self._growth = limit_s, ends, growth
        self._began = time.monotonic()

    def allows_another(self, done: int) -> bool:
        if self._limit_s is None or done == len(self._ends):
            return True
        spent = time.monotonic() - self._began
        step_s = spent / self._ends[done - 1]
        following = self._ends[done]
        return step_s * following * (1 + self._growth) <= self._limit_s


def steps_note(model: Tabular) -> str:
    """Return a sentence about the chosen length of a training."""
    table = model.table
    assert table is not None and table.end is not None
    length = f"The model trains {table.end:,} steps of {table.batch_size} rows"
    if not table.losses:
        return f"{length}."
    shown = ", ".join(f"{loss:.4g}" for loss in table.losses)
    at = (
        ""
        if table.temperature is None
        else f" The temperature of its logits is {table.temperature:.3g}."
    )
    return (
        f"{length}, because of the losses on the validation rows after {len(table.losses)} of "
        f"{len(engine.tabular.ends_of_cycles(table.steps))} cycles: {shown}.{at}"
    )
