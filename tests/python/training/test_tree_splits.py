"""Splits of trees that follow from their rows, whichever of several equal ones a learner of ydf has chosen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistribute.training.trees.splits import settle, without_equal_leaves

# Two numbers and two categories that divide four rows in the same way, after a number that does not.
ROWS = np.array(
    [[0, 1, 8, 2, 0], [3, 2, 7, 2, 0], [1, 5, 3, 0, 1], [2, 6, 2, 1, 1]], dtype="float32"
)


def leaf(value: float) -> Any:
    return SimpleNamespace(is_leaf=True, value=SimpleNamespace(value=value))


def split(positive: Any, negative: Any, **condition: Any) -> Any:
    given = SimpleNamespace(**condition)
    return SimpleNamespace(is_leaf=False, condition=given, pos_child=positive, neg_child=negative)


SPLITS = {
    "first": split(leaf(20), leaf(10), attribute=1, threshold=2.5),
    "opposite": split(leaf(10), leaf(20), attribute=2, threshold=6.5),
    "categories": split(leaf(10), leaf(20), attribute=3, mask=[3]),
    "other categories": split(leaf(20), leaf(10), attribute=4, mask=[2]),
}


@pytest.mark.parametrize("name", SPLITS)
def test_the_first_column_divides_the_rows(name: str) -> None:
    tree = SPLITS[name]
    settle(tree, np.asfortranarray(ROWS), 3, np.arange(4))
    assert vars(tree.condition) == {"attribute": 1, "threshold": 3.5}
    assert (tree.pos_child.value.value, tree.neg_child.value.value) == (20, 10)


@pytest.mark.parametrize("mask", [[1, 2], [3]])
def test_the_set_of_categories_has_no_more_rows_than_the_others(mask: list[int]) -> None:
    rows = np.asfortranarray([[2.0], [0.0], [1.0]], dtype="float32")
    values = (10, 20) if mask == [3] else (20, 10)
    tree = split(*map(leaf, values), attribute=0, mask=mask)
    settle(tree, rows, 0, np.arange(3))
    assert (tree.condition.mask.tolist(), tree.pos_child.value.value) == ([3], 10)


def test_a_column_that_divides_only_the_first_rows_alike_is_not_taken() -> None:
    number = np.arange(200.0)
    rows = np.asfortranarray(np.stack([number % 100, number], 1), dtype="float32")
    tree = split(leaf(1), leaf(2), attribute=1, threshold=29.5)
    settle(tree, rows, 2, np.arange(200))
    assert vars(tree.condition) == {"attribute": 1, "threshold": 29.5}


def test_leaves_of_one_value_are_merged() -> None:
    lower = split(leaf(0.125), leaf(0.12500001), attribute=0, threshold=1.0)
    tree = split(
        split(lower, leaf(0.125), attribute=1, threshold=1.0), leaf(3), attribute=0, mask=[1]
    )
    merged = without_equal_leaves(tree)
    assert merged.pos_child.is_leaf
    assert merged.neg_child.value.value == 3
