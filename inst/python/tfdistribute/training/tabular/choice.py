"""The choice of a tabular model's end: on a part of the rows, before the training on all of them."""

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Input
from tfdistribute.models import Model, Tabular, row_weights
from tfdistribute.models.canned.table import Table
from tfdistribute.models.canned.validation import (
    Validation,
    Weighted,
    constant_loss,
    residual_sizes,
)
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import Listener
from tfdistribute.training.model_directory import as_trained
from tfdistribute.training.specs import Training, TrainSpec

# The next cycle, which takes longer than all before it, follows a loss that is lower by at least this share.
_LEAST_GAIN = 0.01
# Share of the time limit in which steps are timed, for a training whose end is not chosen.
_TIMED = 0.05
# The checkpoint at the end of each training is enough.
_RARELY_S = 86_400.0

_Rows = npt.NDArray[np.int64]
Train = Callable[..., Any]
Evaluate = Callable[..., dict[str, float]]
Predict = Callable[..., Any]


def choose_end(
    model: Tabular,
    settings: RunSettings,
    source: Input,
    train: Train,
    evaluate: Evaluate,
    listener: Listener | None = None,
    validation: Input | None = None,
    predict: Predict | None = None,
) -> Tabular:
    """Complete a model from its directory or from the rows, with the step at which its training ends.

    A model that is at its end trains again: with the columns of its first training, and for as many epochs, or its own.

    A model in a temporary directory trains on a part of the rows, or with rows for ``validation`` on all of them, first
    as a linear model, then one cycle of the rate after the other, until a cycle ends hardly better than one before. A
    temperature of class probabilities is chosen with the end. A training that chooses no end gets fewer steps if its
    time limit allows no more. ``predict`` returns predictions of numbers, whose residuals the model keeps.

    Raises InputError if the rows are not in memory or have other columns than the model, and ArgumentError if the model
    does not choose its end by ``validation``.
    """
    if validation is not None and not model.validates:
        own = "`validation` 0" if model.epochs is None else f"`epochs` {model.epochs}"
        raise _no_choice(f"a model with {own}")
    known = as_trained(model)
    source = known.learning(source)
    completed: Any = known.complete_from_input(source.facts())
    completed.check(source.facts())
    if completed.table.end is not None:
        is_again = _is_again(model, completed.table, source)
        if is_again and validation is not None:
            raise _no_choice("a trained model")
        if is_again:
            completed = completed.trained_again(source.facts().rows or 1)
        if completed.time_limit_s is None or not (is_again or known.table is None):
            return completed
    source = completed.reading(source)
    part, judges = _parts(completed, settings, source, validation)
    share = (part.facts().rows or 1) / (source.facts().rows or 1)
    trials = _Trials(_quiet(settings), part, judges, train, evaluate, listener, predict)
    return (_choose if completed.table.end is None else _in_time)(completed, trials, share)


def _parts(
    model: Tabular, settings: RunSettings, source: Input, validation: Input | None
) -> tuple[Input, Input]:
    """Return the rows that trials train on, and the rows that judge them, which a chosen end makes needless."""
    facts, table = source.facts(), model.table
    assert table is not None and facts.label is not None and facts.rows is not None
    if validation is not None or table.end is not None:
        return source, source if validation is None else model.learning(validation)
    if facts.rows < 2:
        raise InputError(
            "The input has one row, and a tabular model sets rows apart to choose the end of its training.",
            "Give more rows, or the number of epochs, as in tabular_regressor(epochs = 20).",
        )
    classes = None if table.limits else facts.values_of(facts.label.name)
    trained, held = split(facts.rows, model.validation, settings.seed or 0, classes)
    return source.subset(trained), source.subset(held)


@dataclass(frozen=True)
class _Trials:
    """Trainings on a part of the rows, each judged by other rows.

    Args:
        predict: Returns predictions of numbers, whose residuals the best model has; None to keep none.
        found: Losses, and their temperatures.
        residuals: See ``residual_sizes``, at the least loss.
    """

    settings: RunSettings
    part: Input
    judges: Input
    train: Train
    evaluate: Evaluate
    listener: Listener | None
    predict: Predict | None = None
    found: list[tuple[float, float | None]] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)

    def learn(self, model: Tabular, ends: list[int], is_enough: Callable[[], bool]) -> None:
        """Train a model and judge it at the ``ends``, until it ``is_enough``."""

        def judge(candidate: Tabular) -> bool:
            self.found.append(_judge(self.evaluate(candidate, self.settings, self.judges)))
            is_best = self.found[-1][0] <= min(loss for loss, _ in self.found)
            if is_best and self.predict is not None:
                predictions = self.predict(candidate, self.settings, self.judges)
                judged = _labels(candidate, self.judges)
                self.residuals[:] = residual_sizes(candidate.row_loss[0], predictions, judged)
            return is_enough()

        self.run(model, ends, judge)

    def run(self, model: Tabular, ends: list[int], judge: Callable[[Tabular], bool]) -> None:
        """Train a model in a temporary directory, and call ``judge`` at the ``ends``, until it returns True."""
        with tempfile.TemporaryDirectory(prefix="tfdistribute-validation-") as directory:
            candidate = replace(model, model_dir=directory)
            hook = engine.hooks.SaveAtSteps(directory, ends, lambda: judge(candidate))
            table, settings = model.table, self.settings
            assert table is not None
            spec = TrainSpec(self.part.repeated(table.batch_size), ends[-1], (hook,))
            self.train(Training("train", candidate, settings, spec, listener=self.listener))


def _choose(model: Tabular, trials: _Trials, share: float) -> Tabular:
    table, found, clock = model.table, trials.found, _Clock(model.time_limit_s, 1 / share)
    assert table is not None
    linear_steps, ends_of = engine.tabular.linear_steps(table.steps), engine.tabular.ends_of_cycles
    # As many epochs as on all rows.
    linear, steps = math.ceil(linear_steps * share), math.ceil(table.steps * share)
    ends, gain = ends_of(steps), _gain(trials.judges.facts().rows)

    def is_enough() -> bool:
        # The layers may need more than one cycle to be better than the linear model.
        *before, last = [loss for loss, _ in found[1:]]
        is_hardly_better = bool(before) and last > min(before) - gain * abs(min(before))
        return is_hardly_better or not clock.allows(*ends[len(before) : len(before) + 2])

    trials.learn(model.with_table(steps=linear, is_linear=True), [linear], lambda: True)
    if clock.allows(linear, linear + ends[0]):
        clock.restart()
        trials.learn(model.with_table(steps=steps), ends, is_enough)
    losses = tuple(loss for loss, _ in found)
    best = losses.index(min(losses))
    learned, judged = (_labels(model, each) for each in (trials.part, trials.judges))
    of_constant = constant_loss(*model.row_loss, learned, judged)
    validation = Validation(len(judged[0]), of_constant, clock.seconds, tuple(trials.residuals))
    chosen = model.with_table(losses=losses, temperature=found[best][1], validation=validation)
    if best == 0:
        return chosen.with_table(steps=linear_steps, end=linear_steps, is_linear=True)
    return chosen.with_table(end=ends_of(table.steps)[best - 1])


def _in_time(model: Tabular, trials: _Trials, _share: float) -> Tabular:
    """Time some steps, and let the model train the steps for which there is time."""
    table, limit_s = model.table, model.time_limit_s
    assert table is not None and table.end is not None and limit_s is not None
    length = table.end - table.begin
    # TensorFlow is loaded before the time is taken.
    engine.tf.config.list_physical_devices("CPU")
    ends, times = [2**n for n in range(length.bit_length())], [time.monotonic()]

    def is_enough(_: Tabular) -> bool:
        times.append(time.monotonic())
        return times[-1] - times[1] >= _TIMED * limit_s

    trials.run(model.with_table(begin=0), ends, is_enough)
    began, first, *_, last = [*times, times[-1]]
    timed = ends[len(times) - 2]
    # The training starts as slowly as the trial.
    rest_s = limit_s - (last - began) - (first - began)
    fits = math.inf if timed == 1 else rest_s * (timed - 1) / (last - first)
    if fits >= length:
        return model
    steps = max(timed, math.floor(fits))
    return model.with_table(steps=steps, end=table.begin + steps)


def _labels(model: Tabular, source: Input) -> Weighted:
    """Return the responses of rows in memory, and their weights."""
    facts = source.facts()
    assert facts.label is not None
    values = facts.values_of(facts.label.name).reshape(-1)
    return values, row_weights(facts, model.weights_of(facts))


def _gain(rows: int | None) -> float:
    """Return by which share losses on some rows differ by more than chance."""
    return max(_LEAST_GAIN, 2 / math.sqrt(max(1, rows or 1)))


def _is_again(model: Tabular, table: Table, source: Input) -> bool:
    """Return whether a model is at its end; InputError for other columns."""
    assert table.end is not None
    check_columns(table, source, model.weight_column)
    return newest_step(model.model_dir) >= table.end


def check_columns(table: Table, source: Input, weight_column: str | None) -> None:
    facts = source.facts()
    label = None if facts.label is None else facts.label.name
    known = {each.name for each in (*table.numbers, *table.categories)} | {label, weight_column}
    for name in facts.features or ():
        if name not in known:
            raise InputError(
                f"The rows have the feature `{name}`, which the model lacks since its first training.",
                "Leave it out, or train a new model in another `model_dir`.",
                argument="features",
                value=name,
            )


def check_trains(
    verb: str, model: Model, steps: int | None = None, max_steps: int | None = None
) -> None:
    """Raise ArgumentError if a verb would choose the end of a tabular model, which chooses it itself."""
    if not isinstance(model, Tabular):
        return
    if verb == "train_and_evaluate":
        raise ArgumentError(
            "train_and_evaluate() does not train tabular models, which choose the end of their training themselves.",
            "Call train() with the rows of the training, and then evaluate() with others.",
            argument="object",
            value=model.kind,
        )
    for name, value in {"steps": steps, "max_steps": max_steps}.items():
        if value is not None:
            raise ArgumentError(
                f"`{name}` is {value}, but a tabular model chooses the end of its training.",
                "Leave it out, or set `epochs` of the model, as in tabular_regressor(epochs = 20).",
                argument=name,
                value=str(value),
            )


def _no_choice(of: str) -> ArgumentError:
    return ArgumentError(
        f"`validation` of train() chooses the end of a first training, and this is {of}.",
        "Leave it out, or train a new model, in another `model_dir`, with neither `epochs` nor validation = 0.",
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
    """Decides whether more steps, and then the training on ``growth`` times the rows, fit into the time limit."""

    def __init__(self, limit_s: float | None, growth: float) -> None:
        self._limit_s, self._growth = limit_s, growth
        self._began = self._restarted = time.monotonic()

    def restart(self) -> None:
        self._restarted = time.monotonic()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def allows(self, done: int, following: int | None = None) -> bool:
        """Return whether the steps to ``following`` fit, after ``done`` since the restart; None if there are none."""
        if self._limit_s is None or following is None:
            return True
        now = time.monotonic()
        step_s = (now - self._restarted) / done
        rest_s = step_s * (following - done + following * self._growth)
        return now - self._began + rest_s <= self._limit_s


def steps_note(model: Tabular) -> str:
    """Return a sentence about the chosen length of a training."""
    table, done = model.table, newest_step(model.model_dir)
    assert table is not None and table.end is not None
    kind = "linear model" if table.is_linear else "model"
    bounds = ""
    if model.limits is not None:
        low, high = model.limits
        bounds = f" Its predictions stay between {low:.4g} and {high:.4g}, the responses of the training, see `clip`."
    if done >= table.end:
        return (
            f"The {kind} is at step {table.end:,}, the end of its training, and trains no further."
        )
    length = f"The {kind} trains {table.end - table.begin:,} steps of {table.batch_size} rows"
    if done > table.begin:
        return f"The {kind} continues its training to step {table.end:,}, in steps of {table.batch_size} rows."
    if table.begin > 0:
        kept = "with the columns, levels and scales of its first training"
        return f"{length} after step {table.begin:,}, {kept}.{bounds}"
    if not table.losses:
        limit = "" if model.time_limit_s is None else ", as many as `time_limit_s` allows"
        return f"{length}{limit}.{bounds}"
    shown = ", ".join(f"{loss:.4g}" for loss in table.losses)
    at = (
        ""
        if table.temperature is None
        else f" The temperature of its logits is {table.temperature:.3g}."
    )
    return (
        f"{length}, because of the losses on the validation rows of a linear model and after {len(table.losses) - 1} "
        f"of {engine.tabular.CYCLES} cycles of the layers: {shown}.{at}{bounds}"
    )


def split(rows: int, share: float, seed: int, classes: Any = None) -> tuple[_Rows, _Rows]:
    """Return the numbers of the rows that train, and of those that validate: a share of the rows, or of each class.

    They depend on the seed and the number of rows only, not on processes, devices or NumPy's generators.
    """
    order = np.argsort(hashes(rows, seed), kind="stable")
    kinds = (
        np.zeros(rows, np.int64) if classes is None else np.unique(classes, return_inverse=True)[1]
    )
    held = np.zeros(rows, np.bool_)
    for kind in range(int(kinds.max()) + 1):
        members = order[kinds[order] == kind]
        held[members[: round(len(members) * share)]] = True
    if not held.any():
        held[order[0]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def hashes(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """Hash the first whole numbers by splitmix64, https://prng.di.unimi.it/splitmix64.c."""
    numbers = np.arange(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(seed % 2**32) * np.uint64(2**32 - 5)) + np.uint64(
            0x9E3779B97F4A7C15
        )
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
