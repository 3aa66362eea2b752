"""The losses of rows after each tree, as ``evaluate`` reports them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def losses_by_trees(
    model: Any, descent: Any, rows: Mapping[str, Any], learns: bool = False
) -> Values:
    """Return the mean loss of the first iteration, of the first two, and so on.

    ``rows`` are as ``engine.trees.read_rows`` returns them, and ``learns`` as for ``Descent.leaf_values``.
    """
    total, initial = np.zeros(len(descent.forest["roots"])), descent.forest["initial"]
    weights = rows.get("weights", np.ones(len(rows["rows"]), np.float32)).astype(np.float64)
    first = 0
    for values in descent.leaf_values(rows["rows"], learns):
        chunk = slice(first, first + len(values))
        logits = initial + np.cumsum(values, axis=1, dtype=np.float64)
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
    _, spread = (model.response_scale or ((0.0, 1.0),))[0]
    if model.loss == "squared_error":
        return (spread * (one - labels)) ** 2
    return spread * (np.exp(one) - labels * (one + np.log(spread)))
