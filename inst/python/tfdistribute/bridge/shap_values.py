"""SHAP values of rows, which the library shap computes from predictions."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tfdistribute.errors import BackendError

# Rows that are predicted together.
_MOST_ROWS = 200_000


def shap_values(
    predict: Callable[..., Any], rows: Any, background: Any, seed: int
) -> dict[str, Any]:
    """Return SHAP ``values`` by row, column and output, and the ``base``: the mean prediction of the background.

    Args:
        predict: Returns predictions by row and output of a matrix of numbers.
        rows, background: Matrices of numbers, which may be codes of other values.
        seed: Seed of the orders in which more than ten columns are added.

    Raises:
        BackendError: shap is not installed.

    Source:
        https://shap.readthedocs.io/en/latest/generated/shap.Explainer.html
    """
    shap = _library()
    # Otherwise it draws 100 rows.
    masker = shap.maskers.Independent(background, max_samples=len(background))
    explainer = shap.Explainer(lambda matrix: np.asarray(predict(matrix)), masker, seed=seed)
    together = max(1, _MOST_ROWS // len(background))
    found = explainer(rows, batch_size=together, silent=True)
    values, outputs = np.asarray(found.values), found.values.shape[2:] or (1,)
    base = np.asarray(found.base_values, np.float64).reshape(len(rows), *outputs)
    return {"values": values.reshape(*values.shape[:2], *outputs), "base": base[0]}


def _library() -> Any:
    try:
        return importlib.import_module("shap")
    except ImportError as error:
        raise BackendError(
            f"explain_rows() needs the Python package shap, which cannot be imported: {error}.",
            'Install it, for example with reticulate::py_install("shap"), and restart R.',
            value="shap",
        ) from error
