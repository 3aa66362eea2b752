"""Splits of trees that follow from their rows: several can be equal, and each learner of ydf chooses another one."""

import math
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


def settle(node: Any, rows: Any, numbers: int, chosen: Any) -> tuple[Any, Any]:
    """Divide the rows of a node as before, by the first column that does so, and return the places of both parts.

    The threshold is in the middle. The set of categories has no more rows than the others.

    Args:
        numbers: Number of numeric columns, which come first.
        chosen: Places of the rows of this node.
    """
    condition = node.condition
    values = rows[chosen, condition.attribute]
    # Category 0 of ydf is for unknown ones.
    is_positive = (
        np.isin(values + 1, condition.mask)
        if hasattr(condition, "mask")
        else values >= condition.threshold
    )
    column = _first_alike(rows, numbers, chosen, is_positive, condition.attribute)
    values = rows[chosen, column]
    parts = values[is_positive], values[~is_positive]
    if column < numbers:
        is_swapped = parts[0][0] < parts[1][0]
    else:
        is_swapped = (is_positive.mean(), not is_positive[0]) > (0.5, False)
    if is_swapped:
        is_positive, parts = ~is_positive, parts[::-1]
        node.pos_child, node.neg_child = node.neg_child, node.pos_child
    if column < numbers:
        found: dict[str, Any] = {"threshold": _middle(parts[1].max(), parts[0].min())}
    else:
        found = {"mask": np.unique(parts[0]).astype(int) + 1}
    node.condition = SimpleNamespace(attribute=column, **found)
    return chosen[is_positive], chosen[~is_positive]


def _first_alike(rows: Any, numbers: int, chosen: Any, is_positive: Any, column: int) -> int:
    """Return the first column that divides rows into the same two parts as a column does."""
    few, above = rows[chosen[:_FEW], : min(numbers, column)], is_positive[:_FEW]
    may_be = _are_apart(few[above], few[~above])
    for other in [*np.flatnonzero(may_be), *range(numbers, column)]:
        values = rows[chosen, other]
        parts = values[is_positive], values[~is_positive]
        if _are_apart(*parts) if other < numbers else not np.isin(*parts).any():
            return int(other)
    return column


def _are_apart(one: Any, other: Any) -> Any:
    """Return whether one part has only larger values than the other part, by column."""
    (low, high), (other_low, other_high) = (
        (part.min(0, initial=np.inf), part.max(0, initial=-np.inf)) for part in (one, other)
    )
    return (low > other_high) | (high < other_low)


def _middle(low: np.float32, high: np.float32) -> np.float32:
    middle = np.float32(low / 2 + high / 2)
    # The middle of neighbors is rounded to one of them.
    return middle if middle > low else high
