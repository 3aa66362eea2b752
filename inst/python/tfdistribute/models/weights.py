"""Weights of rows: their check, and statistics of rows that have weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import Accepted, InputFacts, Interval
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input

Values = npt.NDArray[np.float64]

# Shares of the sum of the weights are equal up to their rounding.
_ROUNDING = 1e-12


def accepted_weights(name: str) -> Accepted:
    def error(found: Sequence[Any], place: str) -> InputError:
        value = "missing" if np.isnan(found[0]) else f"{found[0]:g}"
        return InputError(
            f"The weights `{name}` must be finite numbers of at least 0, not {value} in {place}.",
            "Correct or remove these rows. The weight 0 leaves a row out.",
            argument=name,
            value=value,
        )

    return Accepted(Interval(0, np.inf), error)


def row_weights(facts: InputFacts, name: str | None) -> Values | None:
    """Return the weights of rows in memory; None for others, or without weights.

    Raises InputError for a weight that is negative, infinite or missing, and if no row has a positive weight.
    """
    found = None if name is None else facts.values_of(name)
    if name is None or found is None:
        return None
    weights = found.reshape(-1).astype(np.float64)
    usable = np.isfinite(weights) & (weights >= 0)
    if not usable.all():
        row = int(usable.argmin())
        raise accepted_weights(name).error([weights[row]], f"row {row + 1}")
    if len(weights) > 0 and not weights.any():
        raise InputError(
            f"The weights `{name}` must not be 0 in all {len(weights)} rows.",
            "Give some rows a positive weight, or leave the weights out.",
            argument=name,
            value="0",
        )
    return weights


def weighted_rows(source: Input, name: str | None) -> Input:
    """Return the rows, without rows of weight 0 if they are in memory; InputError as ``row_weights``."""
    weights = row_weights(source.facts(), name)
    if weights is None or weights.all():
        return source
    return source.subset(np.flatnonzero(weights))


def mean_and_spread(values: Values, weights: Values | None) -> tuple[Any, Any]:
    """Return the means and standard deviations along the first axis, as if rows were repeated by their weights."""
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
    mean = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    # The mean of large equal numbers is rounded.
    return mean, np.where((values != values[:1]).any(axis=0), spread, 0.0)


def quantiles(values: Values, shares: Sequence[float], weights: Values | None) -> list[float]:
    """Return quantiles that are the same if each row is repeated, or if all weights have another unit.

    Source:
        Type 2 of Hyndman and Fan (1996), Sample Quantiles in Statistical Packages, https://doi.org/10.2307/2684934
    """
    if weights is None:
        return np.quantile(values, shares, method="averaged_inverted_cdf").tolist()
    order = np.argsort(values)
    ordered, sums = values[order], np.cumsum(weights[order])
    found = [
        np.searchsorted(sums, sums[-1] * (np.array(shares) + rounding))
        for rounding in (-_ROUNDING, _ROUNDING)
    ]
    below, above = (ordered[np.minimum(each, len(ordered) - 1)] for each in found)
    return (below / 2 + above / 2).tolist()
