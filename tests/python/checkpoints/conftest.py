"""A model directory with three checkpoints."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from support.checkpoints import write_checkpoints


@pytest.fixture
def model_dir(tensorflow: ModuleType, tmp_path: Path) -> str:
    """Three checkpoints written by TensorFlow."""
    del tensorflow
    write_checkpoints(tmp_path, 10, 20, 30)
    return str(tmp_path)
