"""The losses of rows after each tree, as ``evaluate`` reports them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.training.trees.forest import leaf_values

Values = npt.NDArray[np.float64]


def losses_by_trees(
    model: Any, forest: Any, rows: Mapping[str, Any], settles: bool = False
) -> Values:
    """Return the mean loss of the first iteration, of the first two, and so on.

    ``rows`` are as ``engine.trees.read_rows`` returns them, and ``settles`` as for ``leaf_values``.
    """
    count, labels = len(rows["rows"]), rows["labels"].astype(np.float64)
    weights = rows.get("weights", np.ones(count)).astype(np.float64)
    logits = np.tile(forest["initial"].astype(np.float64), (count, 1))
    losses = list[float]()
    for values in leaf_values(forest, rows["rows"], settles):
        logits += values
        losses.append(weights @ _row_losses(model, logits, labels))
    return np.array(losses) / weights.sum()


def _row_losses(model: Any, logits: Values, labels: Values) -> Values:
    """Return losses by row, for logits by row and output."""
    one = logits[:, 0]
    if getattr(model, "n_classes", 0) > 2:
        own = np.take_along_axis(logits, labels[:, np.newaxis].astype(int), 1)[:, 0]
        return np.logaddexp.reduce(logits, axis=1) - own
    if hasattr(model, "n_classes"):
        return np.logaddexp(0, one) - labels * one
    _, spread = (model.response_scale or ((0.0, 1.0),))[0]
    if model.loss == "squared_error":
        return (spread * (one - labels)) ** 2
    return spread * (np.exp(one) - labels * (one + np.log(spread)))
