"""The losses of rows after each tree, as ``evaluate`` reports them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine

Values = npt.NDArray[np.float64]


def training_losses(model: Any, trained: Any, rows: Mapping[str, Any]) -> list[float]:
    """Return the losses of a growth that ydf has logged, in this package's terms."""
    logged = [entry.training_evaluation.loss for entry in trained.training_logs()]
    if hasattr(model, "n_classes"):
        # ydf has twice the logarithm of the probability for two classes.
        return [each / 2 if model.n_classes == 2 else each for each in logged]
    _, spread = _scale(model)
    if model.loss == "squared_error":
        return [(spread * each) ** 2 for each in logged]
    mean = float(np.average(rows["labels"], weights=rows["weights"]))
    return [spread * (each / 2 - np.log(spread) * mean) for each in logged]


def losses_by_trees(
    model: Any, forest: Mapping[str, Any], columns: Any, rows: Mapping[str, Any]
) -> Values:
    """Return the mean loss of the first iteration, of the first two, and so on.

    ``rows`` are as ``engine.trees.read_rows`` returns them.
    """
    total = np.zeros(len(forest["roots"]))
    weights = rows.get("weights", np.ones(len(rows["rows"]), np.float32)).astype(np.float64)
    first = 0
    for values in engine.trees.leaf_values(forest, rows["rows"], columns):
        chunk = slice(first, first + len(values))
        logits = forest["initial"] + np.cumsum(values, axis=1, dtype=np.float64)
        labels = rows["labels"][chunk, np.newaxis].astype(np.float64)
        total += weights[chunk] @ _row_losses(model, logits, labels)
        first = chunk.stop
    return total / weights.sum()


def _row_losses(model: Any, logits: Values, labels: Values) -> Values:
    """Return losses by row and number of trees, for logits that also have an axis of outputs."""
    one = logits[..., 0]
    if getattr(model, "n_classes", 0) > 2:
        places = np.broadcast_to(labels.astype(np.int64)[..., np.newaxis], (*one.shape, 1))
        return np.logaddexp.reduce(logits, axis=-1) - np.take_along_axis(logits, places, -1)[..., 0]
    if hasattr(model, "n_classes"):
        return np.logaddexp(0, one) - labels * one
    _, spread = _scale(model)
    if model.loss == "squared_error":
        return (spread * (one - labels)) ** 2
    return spread * (np.exp(one) - labels * (one + np.log(spread)))


def _scale(model: Any) -> tuple[float, float]:
    return (model.response_scale or ((0.0, 1.0),))[0]
