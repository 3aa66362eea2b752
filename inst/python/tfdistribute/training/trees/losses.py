"""The losses of rows after each tree, as ``evaluate`` reports them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.models.canned.validation import row_losses
from tfdistribute.training.trees.forest import logits_by_trees

Values = npt.NDArray[np.float64]


def losses_by_trees(
    model: Any, forest: Any, rows: Mapping[str, Any], settles: bool = False
) -> Values:
    """Return the mean loss of the first iteration, of the first two, and so on.

    ``rows`` are as ``engine.trees.read_rows`` returns them, and ``settles`` as for ``leaf_values``.
    """
    count, truth = len(rows["rows"]), model.in_unit(rows["labels"])
    weights = rows.get("weights", np.ones(count)).astype(np.float64)
    losses = [
        weights @ row_losses(model.row_loss[0], model.predicted(logits), truth)
        for logits in logits_by_trees(forest, rows["rows"], settles)
    ]
    return np.array(losses) / weights.sum()
