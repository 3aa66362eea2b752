"""The losses of rows after each tree, as ``evaluate`` reports them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.models.canned.validation import row_losses

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
        truth = model.in_unit(rows["labels"][chunk, np.newaxis])
        total += weights[chunk] @ row_losses(model.row_loss[0], model.predicted(logits), truth)
        first = chunk.stop
    return total / weights.sum()
