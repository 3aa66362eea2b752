"""Contents of checkpoints, and ways to damage them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def variables(model_dir: str | Path) -> dict[str, Any]:
    """Return the variables of the newest checkpoint by name."""
    checkpoint = _newest(model_dir)
    names = [name for name, _ in _train().list_variables(checkpoint)]
    return {name: _train().load_variable(checkpoint, name) for name in names}


def assert_alike(
    found: Mapping[str, Any], expected: Mapping[str, Any], rtol: float = 2e-6, atol: float = 2e-6
) -> None:
    """Compare variables up to rounding."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=name)


def assert_identical(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Compare variables bit for bit."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name, strict=True)


def cut_newest_checkpoint(model_dir: Path) -> None:
    """Remove the last bytes of the newest checkpoint's data."""
    newest = Path(_newest(model_dir))
    data = next(newest.parent.glob(f"{newest.name}.data-*"))
    data.write_bytes(data.read_bytes()[:-8])


def _newest(model_dir: str | Path) -> str:
    return _train().latest_checkpoint(str(model_dir))


def _train() -> Any:
    return importlib.import_module("tensorflow").train
