"""The trees of a tabular model, which Yggdrasil Decision Forests (ydf) grows on the rows that the layers learn from."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.errors import BackendError
from tfdistribute.interrupts import keep_handler
from tfdistribute.models import Tabular
from tfdistribute.models.weights import Values
from tfdistribute.run_config import RunSettings
from tfdistribute.training.trees.forest import as_forest, logits_by_trees, losses_by_trees
from tfdistribute.training.trees.ydf import Growth, library, loss_name

# Most iterations, and most trees of all classes, of which fewer than the least iterations are not worth their time.
_ITERATIONS, _MOST_TREES, _LEAST_ITERATIONS = 300, 900, 50
# Of more rows, trees compare numbers with their quantiles only, in a third of the time.
_EXACT_ROWS = 50_000


@dataclass(frozen=True)
class Forest:
    """Arrays of ``engine.trees.ARRAYS``, and the losses of the validation rows after each iteration."""

    arrays: dict[str, Any]
    losses: list[float]

    def logits(self, matrix: Any) -> Values:
        *_, logits = logits_by_trees(self.arrays, matrix)
        return logits

    @property
    def iterations(self) -> int:
        return len(self.arrays["roots"])

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(map(int, np.shape(each))) for name, each in self.arrays.items()}

    def variables(self) -> dict[str, Any]:
        types = engine.trees.ARRAYS
        arrays = self.arrays
        return {f"tabular/trees/{name}": np.asarray(arrays[name], types[name][0]) for name in types}


def can_grow(model: Tabular) -> bool:
    """Return whether a model may have trees, which have no quantiles, and take too long for many classes."""
    return model.units * _LEAST_ITERATIONS <= _MOST_TREES and model.row_loss[0] != "quantile"


def has_library() -> bool:
    try:
        library()
    except BackendError:
        return False
    return True


def grow(
    model: Tabular,
    settings: RunSettings,
    rows: Mapping[str, Any],
    judged: Mapping[str, Any] | None = None,
    iterations: int | None = None,
) -> Forest:
    """Grow as many trees as have the least loss on other rows, or as many as are asked for.

    Rows are as for ``losses_by_trees``.
    """
    table = model.table
    assert table is not None
    classes: int = getattr(model, "n_classes", 0)
    sizes = tuple(len(each.levels) + 1 for each in table.categories)
    settings_of_ydf = {
        "loss": loss_name(model),
        "num_trees": iterations or min(_ITERATIONS, _MOST_TREES // model.units),
        "max_depth": 6,
        "shrinkage": 0.1,
        "min_examples": 5,
        "random_seed": settings.seed or 0,
    }
    growth = Growth(classes, sizes, {}, settings_of_ydf, len(rows["rows"]) > _EXACT_ROWS)
    put_handler_back = keep_handler()
    try:
        with tempfile.TemporaryDirectory(prefix="tfdistribute-trees-") as directory:
            grown = growth.grow(rows, directory, settings, judged=judged)
    finally:
        put_handler_back()
    arrays = as_forest(grown, sizes, rows["rows"], is_settled=False)
    losses = losses_by_trees(model, arrays, rows if judged is None else judged)
    kept = len(losses) if judged is None else int(np.argmin(losses)) + 1
    return Forest(_first(arrays, kept), losses[:kept].tolist())


def _first(arrays: dict[str, Any], kept: int) -> dict[str, Any]:
    """Return the first iterations, with their nodes, which are in order."""
    roots = arrays["roots"]
    if kept == len(roots):
        return arrays
    last = roots[kept].min()
    of_nodes = set(arrays) - {"roots", "initial", "depth", "is_in"}
    cut = {name: each[:last] if name in of_nodes else each for name, each in arrays.items()}
    return {**cut, "roots": roots[:kept]}
