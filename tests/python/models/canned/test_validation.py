"""Constant predictions and sizes of residuals on validation rows, compared with rows that are repeated."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistribute.models.canned.validation import constant_loss, residual_sizes

RANDOM = np.random.default_rng(5)
LEARNED, JUDGED = RANDOM.gamma(2.0, size=60), RANDOM.gamma(2.0, size=40)
TIMES, JUDGED_TIMES = RANDOM.integers(1, 4, 60), RANDOM.integers(1, 4, 40)


def squared(mean: float, value: float) -> float:
    return (mean - value) ** 2


def poisson(mean: float, value: float) -> float:
    return mean - value * math.log(mean)


def with_loss(loss: str, shares: tuple[float, ...] | None = None) -> Any:
    return SimpleNamespace(row_loss=(loss, shares))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("loss", "of_row"), [("squared_error", squared), ("poisson", poisson)])
def test_the_loss_of_the_mean_counts_rows_by_their_weights(
    loss: str, of_row: Any, weighted: bool
) -> None:
    times, judged_times = (TIMES, JUDGED_TIMES) if weighted else (1, 1)
    mean = float(np.repeat(LEARNED, times).mean())
    wanted = np.mean([of_row(mean, each) for each in np.repeat(JUDGED, judged_times)])
    weights = (TIMES.astype(float), JUDGED_TIMES.astype(float)) if weighted else (None, None)
    found = constant_loss(with_loss(loss), (LEARNED, weights[0]), (JUDGED, weights[1]))
    assert found == pytest.approx(wanted)


def test_the_loss_of_quantiles_is_the_pinball_loss() -> None:
    shares = (0.1, 0.5)
    wanted = []
    for share in shares:
        at = np.quantile(LEARNED, share, method="averaged_inverted_cdf")
        wanted += [share * (y - at) if y > at else (1 - share) * (at - y) for y in JUDGED]
    found = constant_loss(with_loss("quantile", shares), (LEARNED, None), (JUDGED, None))
    assert found == pytest.approx(np.mean(wanted))


def test_the_loss_of_classes_is_the_log_loss_of_their_shares() -> None:
    learned, judged = np.array([0, 1, 1, 2]), np.array([1, 0, 3])
    wanted = -(math.log(0.5) + math.log(0.25) + math.log(1 / 5)) / 3
    found = constant_loss(with_loss("log_loss"), (learned, None), (judged, None))
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("number", [9, 500, 2001])
def test_new_rows_are_within_the_size_of_a_level_as_often_as_it_says(number: int) -> None:
    draws = np.abs(RANDOM.normal(size=(400, number + 1)))
    for level in (0.5, 0.9):
        covered = []
        for *held, new in draws:
            sizes = residual_sizes("squared_error", np.zeros(number), (np.array(held), None))
            assert len(sizes) == min(number, 1000)
            covered.append(new <= sizes[math.ceil((len(sizes) + 1) * level - 1e-9) - 1])
        # Four standard deviations.
        assert abs(np.mean(covered) - level) < 4 * math.sqrt(level * (1 - level) / 400) + 1 / number


def test_sizes_of_weighted_rows_are_sizes_of_repeated_rows() -> None:
    residuals = RANDOM.normal(size=3000)
    times = RANDOM.integers(1, 5, 3000)
    zero = np.zeros(3000)
    found = residual_sizes("squared_error", zero, (residuals, times.astype(float)))
    repeated = np.repeat(residuals, times)
    wanted = residual_sizes("squared_error", np.zeros(len(repeated)), (repeated, None))
    # The last depends on what counts as a new row.
    np.testing.assert_allclose(found[:-1], wanted[:-1], rtol=0.02)


def test_residuals_of_counts_are_divided_by_their_standard_deviation() -> None:
    predictions, counts = np.array([4.0, 100.0]), np.array([10.0, 80.0])
    assert residual_sizes("poisson", predictions, (counts, None)) == (2.0, 3.0)
