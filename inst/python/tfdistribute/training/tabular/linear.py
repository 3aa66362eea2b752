"""The linear part of a tabular model: generalized linear models with a ridge penalty, by L-BFGS on all rows."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.models import Tabular
from tfdistribute.models.canned.table import Table
from tfdistribute.models.weights import Values

# From the strongest, as halves of squares of weights of standardized columns.
PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)
_STEPS, _MEMORY = 150, 10
# Steps end when one makes the loss less by this share or fewer.
_LEAST_GAIN = 1e-5
# Quantile losses are smooth within this distance of the response.
_SMOOTH = 0.02


@dataclass(frozen=True)
class Design:
    """Columns of a linear model: numbers, and for each category the place of its weight."""

    numbers: Values
    places: npt.NDArray[np.int64]
    count: int  # Of weights per output. The last one is for unknown categories, and 0.

    @classmethod
    def of(cls, table: Table, matrix: npt.NDArray[np.float32]) -> "Design":
        """Read rows of ``Table.matrix``, as the graph does."""
        constants, first = table.constants(), len(table.numbers)
        given = np.clip(matrix[:, :first], -constants["farthest"], constants["farthest"])
        given = given.astype(np.float64)
        last = first + len(constants["incomplete"])
        numbers = [given * constants["stretch"] + constants["shift"], matrix[:, first:last]]
        phases = [
            2 * math.pi * (given[:, place] * factor + offset)
            for place, factor, offset in constants["cycles"]
        ]
        numbers += [wave(each)[:, np.newaxis] for wave in (np.sin, np.cos) for each in phases]
        joined = np.concatenate(numbers, axis=1)
        sizes = [len(each.levels) for each in table.categories]
        starts = np.cumsum([1 + joined.shape[1], *sizes])
        codes = matrix[:, last:].astype(np.int64)
        places = np.where(codes < sizes, codes + starts[:-1], starts[-1])
        return cls(joined, places.reshape(len(matrix), -1), int(starts[-1]) + 1)

    def logits(self, weights: Values) -> Values:
        found = weights[0] + self.numbers @ weights[1 : 1 + self.numbers.shape[1]]
        for place in self.places.T:
            found += weights[place]
        return found

    def gradient(self, upstream: Values) -> Values:
        found, last = np.zeros((self.count, upstream.shape[1])), 1 + self.numbers.shape[1]
        if self.places.size:
            repeated = np.repeat(upstream, self.places.shape[1], axis=0)
            for output, column in enumerate(repeated.T):
                found[:, output] = np.bincount(self.places.reshape(-1), column, self.count)
        found[0], found[1:last], found[-1] = upstream.sum(0), self.numbers.T @ upstream, 0
        return found


@dataclass(frozen=True)
class Linear:
    """Weights by column and output, and the losses of the steps that led to them."""

    weights: Values
    penalty: float
    losses: list[float]

    def variables(self, model: Tabular) -> dict[str, Any]:
        """Return the variables of the graph."""
        table = model.table
        assert table is not None
        weights, scope = self.weights.astype(np.float32), "tabular/linear"
        last = len(weights) - 1 - sum(len(each.levels) for each in table.categories)
        found: dict[str, Any] = {}
        if table.numbers:
            found = {f"{scope}_weights": weights[1:last], f"{scope}_bias": weights[0]}
        if table.categories:
            found[f"{scope}/bias_weights"] = weights[0] * (not table.numbers)
        for each in table.categories:
            column = each.column(model.new_levels, linear=True)
            found[f"{scope}/{column.scope}/weights"] = weights[last : last + len(each.levels)]
            last += len(each.levels)
        return found


def scores(model: Tabular, logits: Values) -> Values:
    """Return logits as ``Judges`` gets them, which are quantiles themselves."""
    return _as_quantiles(logits) if model.row_loss[0] == "quantile" else logits


def fit(
    model: Tabular,
    design: Design,
    learned: Any,
    weights: Values | None,
    penalty: float,
    start: Linear | None = None,
) -> Linear:
    """Return the linear model with the least loss and penalty; ``learned`` is what logits learn."""
    shares = np.full(len(learned), 1 / len(learned)) if weights is None else weights / weights.sum()
    loss, shape = _LOSSES[model.row_loss[0]], (design.count, model.units)
    losses: list[float] = []

    def value(flat: Values) -> tuple[float, Values]:
        each = flat.reshape(shape)
        with np.errstate(over="ignore", invalid="ignore"):
            found, upstream = loss(design.logits(each), learned, model.row_loss[1])
            gradient = design.gradient(upstream * shares[:, np.newaxis])
        penalized = np.concatenate([np.zeros_like(each[:1]), each[1:]])
        total = float(found @ shares) + penalty / 2 * float((penalized**2).sum())
        return total, (gradient + penalty * penalized).reshape(-1)

    flat = (np.zeros(shape) if start is None else start.weights).reshape(-1)
    flat = _minimize(value, flat, losses)
    return Linear(flat.reshape(shape), penalty, losses)


def _minimize(
    function: Callable[[Values], tuple[float, Values]], point: Values, values: list[float]
) -> Values:
    """Minimize by L-BFGS, and note the values of the steps.

    Source:
        Nocedal and Wright (2006), Numerical Optimization, algorithms 7.4 and 7.5.
    """
    pairs: list[tuple[Values, Values]] = []
    value, gradient = function(point)
    values.append(value)
    for _ in range(_STEPS):
        direction = _direction(gradient, pairs)
        slope = float(gradient @ direction)
        length = 1.0 if pairs else min(1.0, 1 / max(1e-30, float(np.abs(gradient).sum())))
        found, steep = function(point + length * direction)
        while not found <= value + 1e-4 * length * slope and length > 1e-10:
            length /= 2
            found, steep = function(point + length * direction)
        if not found < value:
            break
        step, change = length * direction, steep - gradient
        if float(step @ change) > 1e-12 * float(change @ change):
            pairs = [*pairs[1 - _MEMORY :], (step, change)]
        gain, point, value, gradient = value - found, point + step, found, steep
        values.append(value)
        if gain <= _LEAST_GAIN * abs(value) and len(pairs) > 1:
            break
    return point


def _direction(gradient: Values, pairs: list[tuple[Values, Values]]) -> Values:
    """Return the step that pairs of steps and changes of the gradient suggest."""
    direction, factors = -gradient, list[float]()
    for step, change in reversed(pairs):
        factors.append(float(step @ direction) / float(step @ change))
        direction = direction - factors[-1] * change
    if pairs:
        step, change = pairs[-1]
        direction = direction * (float(step @ change) / float(change @ change))
    for (step, change), factor in zip(pairs, reversed(factors), strict=True):
        direction = direction + (factor - float(change @ direction) / float(step @ change)) * step
    return direction


# Each returns the losses of rows, and their gradients by the logits.
def _squared(logits: Values, learned: Values, _: Any) -> tuple[Values, Values]:
    off = logits - learned[:, np.newaxis]
    return (off**2)[:, 0], 2 * off


def _poisson(logits: Values, learned: Values, _: Any) -> tuple[Values, Values]:
    means = np.exp(logits)
    return (means - learned[:, np.newaxis] * logits)[:, 0], means - learned[:, np.newaxis]


def _log(logits: Values, learned: Any, _: Any) -> tuple[Values, Values]:
    is_binary = logits.shape[1] == 1
    both = np.concatenate([np.zeros_like(logits), logits], 1) if is_binary else logits
    most = both.max(1, keepdims=True)
    powers = np.exp(both - most)
    sums, rows = powers.sum(1, keepdims=True), np.arange(len(logits))
    losses = (np.log(sums) + most)[:, 0] - both[rows, learned]
    gradient = powers / sums
    gradient[rows, learned] -= 1
    return losses, gradient[:, 1:] if is_binary else gradient


def _as_quantiles(logits: Values) -> Values:
    # As the head: the first quantile, and the positive differences between neighbors.
    return np.cumsum(np.concatenate([logits[:, :1], np.logaddexp(0, logits[:, 1:])], 1), 1)


def _quantile(logits: Values, learned: Values, shares: Any) -> tuple[Values, Values]:
    above = learned[:, np.newaxis] - _as_quantiles(logits)
    losses = np.maximum(above * shares, above * (np.array(shares) - 1)).mean(1)
    slopes = np.clip(0.5 - above / (2 * _SMOOTH), 0, 1) - shares
    upstream = np.cumsum(slopes[:, ::-1], 1)[:, ::-1] / len(shares)
    upstream[:, 1:] *= 1 / (1 + np.exp(-logits[:, 1:]))
    return losses, upstream


_LOSSES: Mapping[str, Callable[..., tuple[Values, Values]]] = {
    "squared_error": _squared,
    "poisson": _poisson,
    "log_loss": _log,
    "quantile": _quantile,
}
