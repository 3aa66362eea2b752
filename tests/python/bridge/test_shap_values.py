"""The error without the library shap."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tfdistribute.bridge.shap_values import shap_values
from tfdistribute.errors import BackendError


def test_without_the_library_an_error_tells_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(BackendError, match="needs the Python package shap") as caught:
        shap_values(lambda matrix: matrix, np.ones((1, 1)), np.ones((1, 1)), 1)
    assert 'reticulate::py_install("shap")' in str(caught.value.remedy)
