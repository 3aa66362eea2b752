"""Splits of trees that follow from their rows: several can be equal, and each learner of ydf chooses another one."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

# Of values with 32 bits.
_ROUNDING = 1e-6
# Rows that most columns do not divide as a split does.
_FEW = 64


def without_equal_leaves(node: Any) -> Any:
    """Merge leaves of one value, because ydf also splits rows with equal gradients, by a gain that is rounding."""
    if node.is_leaf:
        return node
    children = without_equal_leaves(node.pos_child), without_equal_leaves(node.neg_child)
    node.pos_child, node.neg_child = children
    is_merged = all(each.is_leaf for each in children) and math.isclose(
        *(each.value.value for each in children), rel_tol=_ROUNDING
    )
    return children[0] if is_merged else node


def settle(node: Any, rows: Any, columns: Sequence[int], numbers: int, chosen: Any) -> None:
    """Divide the rows of a node and of its children as before, by the first column that does so.

    The threshold is in the middle. The set of categories has no more rows than the others.

    Args:
        columns: Columns of ``rows`` by the attributes of ydf.
        numbers: Number of numeric columns, which come first.
        chosen: Places of the rows of this node.
    """
    if node.is_leaf:
        return
    condition, column = node.condition, columns[node.condition.attribute]
    values = rows[chosen, column]
    # Category 0 of ydf is for unknown ones.
    is_positive = (
        np.isin(values + 1, condition.mask)
        if hasattr(condition, "mask")
        else values >= condition.threshold
    )
    column = _first_alike(rows, numbers, chosen, is_positive, column)
    values, attribute = rows[chosen, column], columns.index(column)
    if column < numbers:
        is_swapped = values[is_positive].min() < values[~is_positive].max()
    else:
        is_swapped = (is_positive.mean(), not is_positive[0]) > (0.5, False)
    if is_swapped:
        is_positive = ~is_positive
        node.pos_child, node.neg_child = node.neg_child, node.pos_child
    if column < numbers:
        threshold = _middle(values[~is_positive].max(), values[is_positive].min())
        node.condition = SimpleNamespace(attribute=attribute, threshold=threshold)
    else:
        mask = np.unique(values[is_positive]).astype(int) + 1
        node.condition = SimpleNamespace(attribute=attribute, mask=mask)
    settle(node.pos_child, rows, columns, numbers, chosen[is_positive])
    settle(node.neg_child, rows, columns, numbers, chosen[~is_positive])


def _first_alike(rows: Any, numbers: int, chosen: Any, is_positive: Any, column: int) -> int:
    """Return the first column that divides rows into the same two parts as a column does."""
    few, above = rows[chosen[:_FEW], : min(numbers, column)], is_positive[:_FEW, np.newaxis]
    most, least = ({"initial": sign * np.inf, "where": above} for sign in (-1, 1))
    others = {"where": ~above}
    may_be = (few.min(0, **least) > few.max(0, **{**most, **others})) | (
        few.max(0, **most) < few.min(0, **{**least, **others})
    )
    for other in [*np.flatnonzero(may_be), *range(numbers, column)]:
        values = rows[chosen, other]
        parts = values[is_positive], values[~is_positive]
        is_alike = (
            parts[0].min() > parts[1].max() or parts[0].max() < parts[1].min()
            if other < numbers
            else not np.isin(*parts).any()
        )
        if is_alike:
            return int(other)
    return column


def _middle(low: np.float32, high: np.float32) -> np.float32:
    middle = np.float32(low / 2 + high / 2)
    # The middle of neighbors is rounded to one of them.
    return middle if middle > low else high
