"""The trees of ydf as arrays, and rows on their way through them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.models.canned.validation import Judges
from tfdistribute.training.trees.splits import settle, without_equal_leaves

Arrays = dict[str, npt.NDArray[Any]]

_NODE = ("column", "weight", "threshold", "first_category", "positive", "negative", "value")


def as_forest(model: Any, sizes: Mapping[int, int], rows: Any = None) -> Arrays:
    """Return the arrays of ``engine.trees.ARRAYS``; ``sizes`` are numbers of categories by the number of a column.

    With the ``rows`` that trained, they do not depend on the learner of ydf.
    """
    names = [each.name[1:] for each in model.data_spec().columns]
    columns = [int(each) if each.isdecimal() else -1 for each in names]
    nodes, is_in, deepest = list[list[Any]](), [False], 0

    def add(node: Any, depth: int) -> int:
        nonlocal deepest
        deepest, place = max(deepest, depth), len(nodes)
        if node.is_leaf:
            nodes.append([[0], [1.0], 0.0, -1, place, place, node.value.value])
            return place
        nodes.append(_read(node.condition, columns, sizes, is_in))
        nodes[place] += [add(each, depth + 1) for each in (node.pos_child, node.neg_child)]
        nodes[place].append(0.0)
        return place

    trees = [without_equal_leaves(tree.root) for tree in model.iter_trees()]
    if rows is not None:
        by_column, numbers = np.asfortranarray(rows), min(sizes, default=rows.shape[1])
        for tree in trees:
            settle(tree, by_column, columns, numbers, np.arange(len(rows)))
    roots = [add(tree, 0) for tree in trees]
    terms = max(len(node[0]) for node in nodes)
    for node in nodes:
        missing = terms - len(node[0])
        node[:2] = [*node[0], *[0] * missing], [*node[1], *[0.0] * missing]
    initial = np.reshape(model.initial_predictions(), -1)
    arrays: dict[str, Any] = {
        **dict(zip(_NODE, zip(*nodes, strict=True), strict=True)),
        "roots": np.reshape(roots, (-1, len(initial))),
        "initial": initial,
        "depth": deepest,
        "is_in": is_in,
    }
    types = engine.trees.ARRAYS
    return {name: np.array(arrays[name], types[name][0]) for name in types}


def _read(
    condition: Any, columns: Sequence[int], sizes: Mapping[int, int], is_in: list[bool]
) -> list[Any]:
    """Return the columns, weights and threshold of a condition, and the place of its categories in ``is_in``."""
    if hasattr(condition, "attributes"):
        read = [columns[each] for each in condition.attributes]
        return [read, list(condition.weights), condition.threshold, -1]
    column = columns[condition.attribute]
    if not hasattr(condition, "mask"):
        return [[column], [1.0], condition.threshold, -1]
    first, mask = len(is_in), set(condition.mask)
    # Category 0 of ydf is for unknown ones.
    is_in.extend(each + 1 in mask for each in range(sizes[column]))
    return [[column], [1.0], 0.0, first]


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
