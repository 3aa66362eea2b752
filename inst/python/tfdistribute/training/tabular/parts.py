"""The parts of a tabular model: they learn from a part of the rows, and the others choose their weights and lengths."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.errors import ArgumentError, BackendError, TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.models import Tabular, row_weights
from tfdistribute.models.canned.validation import (
    Judges,
    Validation,
    best_temperature,
    constant_loss,
    mean_logits,
    mixture,
    residual_sizes,
)
from tfdistribute.models.weights import Values
from tfdistribute.run_config import RunSettings
from tfdistribute.run_config.settings import FLOAT_32
from tfdistribute.training.history import History
from tfdistribute.training.specs import Start
from tfdistribute.training.tabular import trees
from tfdistribute.training.tabular.linear import PENALTIES, Design, Linear, fit, scores
from tfdistribute.training.tabular.trials import Judgment, Trials, split_rows

# The next cycle, which takes longer than all before it, follows a loss of the model that is lower by this share.
_LEAST_GAIN = 0.04
# A model is good enough at this share of the loss of a constant.
_ENOUGH = 1e-6
# Linear models and trees of larger tables do not learn again from all rows, because the others add little.
_RETRAINED = 5_000


@dataclass(frozen=True)
class _Rows:
    """Rows as linear models and trees read them; ``truth`` as for ``Judges``."""

    matrix: Any
    truth: Any
    weights: Values | None

    @classmethod
    def of(cls, model: Tabular, source: Input) -> "_Rows":
        facts, table = source.facts(), model.table
        assert facts.label is not None and table is not None
        truth = model.truth(facts.values_of(facts.label.name).reshape(-1))
        return cls(table.matrix(facts), truth, row_weights(facts, model.weights_of(facts)))

    def for_trees(self, model: Tabular) -> dict[str, Any]:
        weights = np.ones(len(self.truth)) if self.weights is None else self.weights
        labels = model.standardized(self.truth)
        labels = labels if labels.dtype.kind == "i" else labels.astype(np.float32)
        return {"rows": self.matrix, "labels": labels, "weights": weights.astype(np.float32)}

    def linear(self, model: Tabular, penalty: float, start: Linear | None = None) -> Linear:
        design, learned = self.design(model), model.standardized(self.truth)
        return fit(model, design, learned, self.weights, penalty, start)

    def design(self, model: Tabular) -> Design:
        assert model.table is not None
        return Design.of(model.table, self.matrix)


@dataclass(frozen=True)
class _Learned:
    """Variables and fields that the model keeps of a part, and for each step its number, loss and seconds."""

    variables: Mapping[str, Any]
    steps: list[tuple[int, float, float]]
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class _Part:
    """A part that learned from some rows; ``complete`` lets it learn from all rows if it should."""

    logits: Values  # Of the validation rows.
    complete: Callable[[], _Learned]


class Choice:
    """A choice under way."""

    def __init__(
        self, model: Tabular, trials: Trials, source: Input, validation: Input | None
    ) -> None:
        self._model, self._trials, self._source = model, trials, source
        rows = source.facts().rows or 1
        self._part, self._held = split_rows(model, trials.settings, source, validation)
        self._held.accepting(model.accepted_values(self._held.facts(), needs_label=True))
        self._rows, self._judged = (_Rows.of(model, each) for each in (self._part, self._held))
        self._judges = Judges(model, self._judged.truth, self._judged.weights)
        self._share = (self._part.facts().rows or 1) / rows
        self._is_large = self._share == 1 or rows > _RETRAINED
        self._clock = _Clock(model.time_limit_s)
        learned, judged = ((each.truth, each.weights) for each in (self._rows, self._judged))
        self._constant = constant_loss(model, learned, judged)
        self._found: dict[str, _Part] = {}
        self._losses: list[float] = []

    def choose(self) -> tuple[Tabular, Start]:
        judges, parts = self._judges, self._learn()
        logits = {name: part.logits for name, part in parts.items()}
        loss_name, shares = self._model.row_loss
        weights = self._mixture(logits)
        mean, temperature = mean_logits(weights, logits), None
        if loss_name == "log_loss":
            temperature = best_temperature(judges, mean)
            mean = mean / temperature
        residuals: tuple[float, ...] = ()
        if loss_name != "log_loss" and not shares:
            predicted = self._model.predicted(mean)[:, 0]
            residuals = residual_sizes(loss_name, predicted, (judges.truth, judges.weights))
        all_losses = {name: judges.mean(judges.losses(each)) for name, each in logits.items()}
        learned = {name: parts[name].complete() for name in weights}
        # Layers have the steps of the model if they are a part of it.
        first = learned.get("layers") or next(iter(learned.values()))
        fields, variables = _joined(learned.values())
        end = {"steps": first.steps[-1][0], "end": first.steps[-1][0], **fields}
        validation = Validation(
            len(judges.truth),
            self._constant,
            self._clock.seconds,
            residuals,
            judges.mean(judges.losses(mean)),
            all_losses,
        )
        chosen = self._model.with_table(
            **{**end, "losses": tuple(self._losses), "temperature": temperature},
            weights=weights,
            validation=validation,
        )
        return chosen, Start(chosen.table.end, variables, first.steps)

    def _mixture(self, logits: Mapping[str, Values]) -> dict[str, float]:
        # Logits of quantiles have no mean.
        return mixture(self._judges, logits, 1 if self._model.row_loss[1] else len(logits))

    def _learn(self) -> dict[str, _Part]:
        found = self._found
        # A team waits for the chief's parts, and trains the layers with it.
        for name in sorted(self._model.parts, key="layers".__eq__):
            if found and not self._clock.allows(1, 1):
                break
            part = {"linear": self._linear, "layers": self._layers, "trees": self._trees}[name]()
            if part is not None:
                found[name] = part
        if not found:
            raise _no_trees(self._model)
        return {name: found[name] for name in self._model.parts if name in found}

    def _linear(self) -> _Part:
        self._trials.progress.report("linear model")
        design, fits, losses = self._judged.design(self._model), list[Linear](), list[float]()
        for penalty in PENALTIES:
            fits.append(self._rows.linear(self._model, penalty, fits[-1] if fits else None))
            logits = scores(self._model, design.logits(fits[-1].weights))
            losses.append(self._judges.mean(self._judges.losses(logits)))
            if losses[-1] > min(losses):
                break
        best = fits[int(np.argmin(losses))]

        def complete() -> _Learned:
            rows = None if self._is_large else _Rows.of(self._model, self._source)
            found = best if rows is None else rows.linear(self._model, best.penalty, best)
            return _learned_linear(self._model, found)

        return _Part(scores(self._model, design.logits(best.weights)), complete)

    def _trees(self) -> _Part | None:
        model, settings = self._model, self._trials.settings
        if not (trees.can_grow(model) and trees.has_library()):
            return None
        self._trials.progress.report("trees")
        judged = self._judged.for_trees(model)
        forest = trees.grow(model, settings, self._rows.for_trees(model), judged)

        def complete() -> _Learned:
            if self._is_large:
                return _learned_trees(forest)
            rows = _Rows.of(model, self._source).for_trees(model)
            return _learned_trees(trees.grow(model, settings, rows, None, forest.iterations))

        return _Part(forest.logits(judged["rows"]), complete)

    def _layers(self) -> _Part:
        model, table = self._model, self._model.table
        assert table is not None
        # As many epochs as on all rows.
        steps = math.ceil(table.steps * self._share)
        ends, cycles = engine.tabular.ends_of_cycles(steps), list[_Cycle]()
        self._clock.restart()

        def judge(logits: Values | None, directory: str) -> bool:
            if logits is None:
                candidate = replace(model, model_dir=directory)
                found: Values = self._trials.logits_of(candidate, self._trials.settings, self._held)
            else:
                found = scores(model, logits)
            cycles.append(self._cycle(cycles, found, directory))
            is_enough = 0 <= self._losses[-1] <= _ENOUGH * self._constant
            following = ends[len(cycles) - 1 : len(cycles) + 1]
            is_last = is_enough or not cycles[-1].promises_more
            return is_last or not self._clock.allows(*following)

        run = self._trials.run_by_team if self._is_large else self._trials.run
        settings = self._trials.settings
        is_plain = settings.micro_batches == 1 and settings.precision == FLOAT_32
        # Other rows have codes of their own for the same labels.
        in_session = self._share < 1 and is_plain
        judgment = Judgment(ends, judge, self._held if in_session else None)
        history = run(model.with_table(steps=steps), self._part, judgment)
        best = min(range(len(cycles)), key=lambda each: cycles[each].rank)
        learned = _learned_layers(history, cycles[best].variables, steps, ends[best])
        return _Part(cycles[best].logits, lambda: learned)

    def _cycle(self, before: Sequence["_Cycle"], logits: Values, directory: str) -> "_Cycle":
        alone = self._judges.mean(self._judges.losses(logits))
        self._losses.append(alone)
        # One part alone predicts quantiles, and layers may become the best one in a later cycle.
        others = {} if self._model.row_loss[1] else self._found
        parts = {**{name: each.logits for name, each in others.items()}, "layers": logits}
        weights = self._mixture(parts)
        losses = self._judges.losses(mean_logits(weights, parts))
        rank = self._judges.mean(losses), alone
        best = min(before, key=lambda each: each.rank, default=None)
        if best is None:
            is_best, promises_more = True, "layers" in weights
        else:
            is_best = rank < best.rank
            promises_more = self._judges.is_better(losses, best.losses, _LEAST_GAIN)
        variables = _read_variables(directory) if is_best else None
        return _Cycle(logits, losses, rank, variables, promises_more)


@dataclass(frozen=True)
class _Cycle:
    """Layers at the end of a cycle.

    Args:
        logits: Of the validation rows.
        losses: Of these rows with the mean of all parts, the linear model and trees included.
        rank: Mean of the losses, and mean loss of the layers alone.
        variables: None if a cycle before was better.
        promises_more: Whether the gain is worth the next cycle.
    """

    logits: Values
    losses: Values
    rank: tuple[float, float]
    variables: Any
    promises_more: bool


def _read_variables(model_dir: str) -> dict[str, Any]:
    checkpoint = newest_checkpoint(model_dir)
    reader = engine.tf.train.load_checkpoint(checkpoint)
    names = reader.get_variable_to_shape_map()
    return {name: reader.get_tensor(name) for name in names if name != "global_step"}


def _learned_layers(history: History, variables: Any, steps: int, end: int) -> _Learned:
    noted = zip(history.steps, history.losses, history.seconds, strict=True)
    shown = [each for each in noted if each[0] < end]
    last = shown[-1] if shown else (0, math.nan, 0.0)
    losses = dict(zip(history.steps, history.losses, strict=True))
    shown.append((end, losses.get(end, last[1]), last[2]))
    return _Learned(variables, shown, {"steps": steps, "end": end})


def _learned_linear(model: Tabular, found: Linear, begin: int = 0) -> _Learned:
    steps = [(begin + step, loss, 0.0) for step, loss in enumerate(found.losses, 1)]
    return _Learned(found.variables(model), steps, {"penalty": found.penalty})


def _learned_trees(forest: trees.Forest, begin: int = 0) -> _Learned:
    steps = [(begin + step, loss, 0.0) for step, loss in enumerate(forest.losses, 1)]
    return _Learned(forest.variables(), steps, {"trees": forest.shapes})


def _joined(learned: Iterable[_Learned]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and the variables of parts."""
    fields, variables = dict[str, Any](), dict[str, Any]()
    for part in learned:
        fields.update(part.fields)
        variables.update(part.variables)
    return fields, variables


def _no_trees(model: Tabular) -> TfdistributeError:
    """Return why a model with trees as its only part has none."""
    if trees.can_grow(model):
        try:
            trees.library()
        except BackendError as error:
            return error
    return ArgumentError(
        '`parts` is "trees", which models of quantiles and of many classes lack.',
        'Leave it out, or give parts = c("linear", "layers").',
        argument="parts",
        value="trees",
    )


def learned_again(model: Tabular, settings: RunSettings, source: Input) -> tuple[Tabular, Start]:
    """Let a model without layers learn again."""
    rows, table = _Rows.of(model, source), model.table
    assert table is not None and table.end is not None
    learned: list[_Learned] = []
    if "linear" in table.weights:
        learned.append(_learned_linear(model, rows.linear(model, table.penalty), table.end))
    if "trees" in table.weights:
        iterations = table.trees["roots"][0]
        forest = trees.grow(model, settings, rows.for_trees(model), None, iterations)
        learned.append(_learned_trees(forest, table.end))
    end = learned[0].steps[-1][0]
    fields, variables = _joined(learned)
    again = model.with_table(**fields, begin=table.end, end=end)
    return again, Start(end, variables, learned[0].steps)


class _Clock:
    """Decides whether more steps fit into the time limit."""

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
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
        return now - self._began + step_s * (following - done) <= self._limit_s
