"""The trees of ydf as arrays, and rows on their way through them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.models.canned.validation import Judges
from tfdistribute.training.trees.splits import settle, without_equal_leaves

Arrays = dict[str, npt.NDArray[Any]]

_NODE = ("column", "weight", "threshold", "first_category", "positive", "negative", "value")


def as_forest(model: Any, sizes: Sequence[int], rows: Any, is_settled: bool) -> Arrays:
    """Return the arrays of ``engine.trees.ARRAYS``.

    Args:
        sizes: Numbers of categories of the last columns.
        rows: The rows that trained.
        is_settled: Whether the arrays do not depend on the learner of ydf.
    """
    nodes, is_in, deepest = list[list[Any]](), [False], 0
    by_column, numbers = np.asfortranarray(rows), rows.shape[1] - len(sizes)
    columns = model.data_spec().columns

    def add(node: Any, chosen: Any, depth: int = 0) -> int:
        nonlocal deepest
        deepest, place = max(deepest, depth), len(nodes)
        if node.is_leaf:
            nodes.append([[0], [1.0], 0.0, -1, place, place, node.value.value])
            return place
        parts = settle(node, by_column, numbers, chosen) if is_settled else (chosen, chosen)
        nodes.append(read(node.condition))
        children = zip((node.pos_child, node.neg_child), parts, strict=True)
        nodes[place] += [*(add(*each, depth + 1) for each in children), 0.0]
        return place

    def read(condition: Any) -> list[Any]:
        if hasattr(condition, "attributes"):
            return [condition.attributes, condition.weights, condition.threshold, -1]
        column = condition.attribute
        if column < numbers:
            return [[column], [1.0], _threshold(condition, columns[column]), -1]
        first, mask = len(is_in), set(condition.mask)
        # Category 0 of ydf is for unknown ones.
        is_in.extend(each + 1 in mask for each in range(sizes[column - numbers]))
        return [[column], [1.0], 0.0, first]

    trees = (without_equal_leaves(tree.root) for tree in model.iter_trees())
    roots = [add(tree, np.arange(len(rows))) for tree in trees]
    initial = np.reshape(model.initial_predictions(), -1)
    arrays: dict[str, Any] = {
        **dict(zip(_NODE, zip(*nodes, strict=True), strict=True)),
        "roots": np.reshape(roots, (-1, len(initial))),
        "initial": initial,
        "depth": deepest,
        "is_in": is_in,
    }
    for name in ("column", "weight"):
        # Nodes have different numbers of terms.
        arrays[name] = [*zip(*itertools.zip_longest(*arrays[name], fillvalue=0), strict=True)]
    types = engine.trees.ARRAYS
    return {name: np.array(arrays[name], types[name][0]) for name in types}


def _threshold(condition: Any, column: Any) -> float:
    """Return the least value that fulfills a condition; ``column`` is its column of the data specification."""
    if hasattr(condition, "threshold"):
        return condition.threshold
    return column.discretized_numerical.boundaries[condition.threshold_idx - 1]


def logits_by_trees(forest: Arrays, rows: Any) -> Iterator[Any]:
    """Yield the logits of rows after each iteration, in one array that changes."""
    columns = np.asfortranarray(rows)
    logits = np.tile(forest["initial"].astype(np.float64), (len(rows), 1))
    for roots in forest["roots"]:
        for output, root in enumerate(roots):
            waiting = [(root, np.arange(len(rows)))]
            while waiting:
                node, chosen = waiting.pop()
                positive, first = forest["positive"][node], forest["first_category"][node]
                if positive == node or len(chosen) == 0:
                    logits[chosen, output] += forest["value"][node]
                    continue
                terms = zip(forest["column"][node], forest["weight"][node], strict=True)
                compared: Any = sum(
                    columns[chosen, column] * weight for column, weight in terms if weight
                )
                if first < 0:
                    is_positive = compared >= forest["threshold"][node]
                else:
                    is_positive = forest["is_in"][first + compared.astype(int)]
                waiting += [
                    (positive, chosen[is_positive]),
                    (forest["negative"][node], chosen[~is_positive]),
                ]
        yield logits


def losses_by_trees(model: Any, forest: Arrays, rows: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Return the mean loss of the first iteration, of the first two, and so on, as ``evaluate`` reports them.

    ``rows`` are as ``engine.trees.read_rows`` returns them.
    """
    judges = Judges(model, model.in_unit(rows["labels"]), rows["weights"].astype(np.float64))
    found = logits_by_trees(forest, rows["rows"])
    return np.array([judges.mean(judges.losses(logits)) for logits in found])
