"""Losses of rows, and what validation rows choose by them: weights of the parts of a model, and a temperature."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfdistribute.models.weights import Values, quantiles

# Order statistics of residuals that are kept.
_MOST_RESIDUALS = 1000
# Weights of parts are multiples of one over this number.
_SHARES = 10
# A part stays out if it makes the loss less by this many standard errors or fewer.
_CHANCE = 0.5
_TEMPERATURES = tuple(2 ** (quarter / 4) for quarter in range(-2, 9))

# Values of rows, and their weights or None.
Weighted = tuple[Any, Values | None]


@dataclass(frozen=True)
class Validation:
    """The choice of an end.

    Args:
        rows: Validation rows.
        constant_loss: Their loss if the prediction is the mean, the quantiles or the shares of the rows that trained.
        seconds: Duration of the choice.
        residuals: Order statistics of the absolute residuals of a model of numbers; empty for others.
        loss: Their loss with the model.
        losses: Their losses with each part alone.
    """

    rows: int
    constant_loss: float
    seconds: float
    residuals: tuple[float, ...] = ()
    loss: float = 0.0
    losses: Mapping[str, float] = field(default_factory=dict[str, float])


def row_losses(
    loss: str, predictions: Any, truth: Any, shares: Sequence[float] | None = None
) -> Values:
    """Return the losses of rows, whose predictions have a further axis of outputs.

    Args:
        loss: "log_loss" (of logarithms of probabilities; ``truth`` holds numbers of classes), "squared_error",
            "poisson" or "quantile".
        shares: Of the quantiles.
    """
    if loss == "log_loss":
        places = np.broadcast_to(np.asarray(truth, np.int64), predictions.shape[:-1])
        return -np.take_along_axis(predictions, places[..., np.newaxis], -1)[..., 0]
    truth = np.reshape(np.asarray(truth, np.float64), (len(truth), -1))
    if loss == "quantile":
        above = truth - predictions
        each = np.maximum(above * np.array(shares), above * (np.array(shares) - 1))
    elif loss == "poisson":
        # No count has the logarithm of 0 as a factor.
        each = predictions - np.where(
            truth == 0, 0, truth * np.log(np.where(truth == 0, 1, predictions))
        )
    else:
        each = (predictions - truth) ** 2
    return each.mean(-1)


def log_probabilities(logits: Values) -> Values:
    """Return the logarithms of the probabilities of classes; two classes have one logit."""
    if logits.shape[-1] == 1:
        return -np.logaddexp(0, np.concatenate([logits, -logits], -1))
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


@dataclass(frozen=True)
class Judges:
    """Validation rows, which judge the logits of candidates.

    Args:
        model: Has ``row_loss`` and ``predicted``, which returns predictions for ``row_losses`` from logits.
        truth: Numbers, or numbers of classes.
    """

    model: Any
    truth: Any
    weights: Values | None

    def losses(self, logits: Values) -> Values:
        name, shares = self.model.row_loss
        found = row_losses(name, self.model.predicted(logits), self.truth, shares)
        return np.where(np.isfinite(found), found, np.inf)

    def mean(self, losses: Values) -> float:
        return float(np.average(losses, weights=self.weights))

    def is_better(self, losses: Values, others: Values, share: float = 0.0) -> bool:
        """Return whether losses are less than others, by a share of theirs and by more than chance on the same rows."""
        if not np.isfinite(losses).all() or not np.isfinite(others).all():
            return self.mean(losses) < self.mean(others)
        gains, weights = others - losses, self.weights
        gain = self.mean(gains)
        squares = (gains - gain) ** 2
        total = len(gains) if weights is None else weights.sum() ** 2 / (weights**2).sum()
        error = np.sqrt(self.mean(squares) / total)
        return gain > max(share * abs(self.mean(others)), _CHANCE * error)


def mixture(judges: Judges, logits: Mapping[str, Values], most: int) -> dict[str, float]:
    """Return the weights of parts, ``most`` of them, whose mean logits have the least loss.

    A part that gains only by chance has no weight.
    """
    chosen, losses = dict[str, float](), np.empty(0)
    for count in range(1, most + 1):
        best, least = dict[str, float](), np.empty(0)
        for parts in itertools.combinations(logits, count):
            for weights in _weights(count):
                found = judges.losses(mean_logits(dict(zip(parts, weights, strict=True)), logits))
                if not best or judges.mean(found) < judges.mean(least):
                    best, least = dict(zip(parts, weights, strict=True)), found
        if not chosen or judges.is_better(least, losses):
            chosen, losses = best, least
    return chosen


def _weights(count: int) -> list[tuple[float, ...]]:
    """List weights above 0 with the sum 1."""
    grid = itertools.product(range(1, _SHARES + 1), repeat=count - 1)
    return (
        [
            (*(each / _SHARES for each in first), (_SHARES - sum(first)) / _SHARES)
            for first in grid
            if sum(first) < _SHARES
        ]
        if count > 1
        else [(1.0,)]
    )


def mean_logits(weights: Mapping[str, float], logits: Mapping[str, Values]) -> Values:
    return np.sum([weight * logits[part] for part, weight in weights.items()], axis=0)


def best_temperature(judges: Judges, logits: Values) -> float:
    return min(_TEMPERATURES, key=lambda each: judges.mean(judges.losses(logits / each)))


def constant_loss(model: Any, learned: Weighted, judged: Weighted) -> float:
    """Return the mean loss of rows with a constant prediction; rows as in ``Judges``."""
    (values, weights), (held, held_weights) = learned, judged
    loss, shares = model.row_loss
    if loss == "log_loss":
        # A class that the rows lack counts as one row among them.
        counts = np.bincount(values, weights, max(values.max(), held.max()) + 1)
        found = np.log(np.where(counts > 0, counts / counts.sum(), 1 / (len(values) + 1)))
    elif shares is not None:
        found = np.array(quantiles(values, shares, weights))
    else:
        mean = np.average(values, weights=weights)
        found = np.array([max(mean, 1e-38) if loss == "poisson" else mean])
    losses = row_losses(loss, np.broadcast_to(found, (len(held), len(found))), held, shares)
    return float(np.average(losses, weights=held_weights))


def residual_sizes(loss: str, predictions: Any, judged: Weighted) -> tuple[float, ...]:
    """Return ordered sizes of residuals, of which the one at k / (number + 1) has this share of new rows below it.

    Residuals of counts are divided by their standard deviation.

    Source:
        Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), https://doi.org/10.1080/01621459.2017.1307116
    """
    held, weights = judged
    sizes = np.abs(held - predictions)
    if loss == "poisson":
        sizes /= np.sqrt(predictions)
    order, number = np.argsort(sizes), len(sizes)
    each = np.ones(number) if weights is None else weights[order]
    # A new row may be larger than all.
    covered = np.cumsum(each) / (each.sum() + each.mean())
    kept = min(number, _MOST_RESIDUALS)
    places = np.searchsorted(covered, np.arange(1, kept + 1) / (kept + 1) - 1e-12)
    return tuple(float(f"{size:.6g}") for size in sizes[order][np.minimum(places, number - 1)])
