"""Results of a tabular model on its validation rows: the loss of a constant, and sizes of residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute.models.weights import Values, quantiles

# Order statistics of residuals that are kept.
_MOST_RESIDUALS = 1000

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
    """

    rows: int
    constant_loss: float
    seconds: float
    residuals: tuple[float, ...] = ()


def constant_loss(
    loss: str, shares: Sequence[float] | None, learned: Weighted, judged: Weighted
) -> float:
    """Return the mean loss of rows with a constant prediction; ``shares`` belong to quantiles."""
    (values, weights), (held, held_weights) = learned, judged
    if loss == "log_loss":
        names, codes = np.unique(values, return_inverse=True)
        counts = np.bincount(codes, weights)
        # A class that the rows lack counts as one row among them.
        known = dict(zip(names.tolist(), counts / counts.sum(), strict=True))
        losses = [-np.log(known.get(each, 1 / (len(values) + 1))) for each in held.tolist()]
        return float(np.average(losses, weights=held_weights))
    values, held = (np.asarray(each, np.float64) for each in (values, held))
    if shares is not None:
        above = held[:, None] - quantiles(values, shares, weights)
        losses = np.maximum(above * shares, above * (np.array(shares) - 1)).mean(1)
    else:
        mean = np.average(values, weights=weights)
        is_count = loss == "poisson"
        losses = mean - held * np.log(mean or 1.0) if is_count else (held - mean) ** 2
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
