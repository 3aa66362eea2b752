"""Losses, checkpoints and exports of TensorFlow 2.15, compared with those of this TensorFlow."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import reference_trainings
from support.reference_trainings import NAMES

from tfdistribute import versions

pytestmark = [pytest.mark.versions, pytest.mark.usefixtures("tensorflow")]

ROOT = Path(__file__).parents[3]
# The Python with TensorFlow 2.15; this process runs in another environment.
REFERENCE = ROOT / ".environment" / "python-2.15" / "bin" / "python"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Losses, checkpoints and exports of TensorFlow 2.15, from an earlier run if there is one."""
    if not REFERENCE.exists():
        pytest.skip("Run `tools/setup tensorflow 2.15` first.")
    shared = os.environ.get("TFDISTRIBUTE_REFERENCE")
    directory = Path(shared) if shared else tmp_path_factory.mktemp("reference")
    if not (directory / "results.json").exists():
        _train_with_2_15(directory)
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    assert results["version"].startswith(versions.TESTED[0])
    return directory, results


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert len(expected["losses"]) > 1
    np.testing.assert_allclose(found["losses"], expected["losses"], rtol=1e-6, atol=1e-7)
    assert found["evaluation"] == pytest.approx(expected["evaluation"], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_those_of_tensorflow_2_15(
    tensorflow: Any, reference: tuple[Path, dict[str, Any]], tmp_path: Path, name: str
) -> None:
    assert_same(reference_trainings.trained(name, tmp_path), reference[1][name]["first"])


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_of_tensorflow_2_15_is_continued(
    tensorflow: Any, reference: tuple[Path, dict[str, Any]], tmp_path: Path, name: str
) -> None:
    directory, results = reference
    shutil.copytree(directory / f"{name}-start", tmp_path / "model")
    found = reference_trainings.trained(name, tmp_path / "model")
    assert_same(found, results[name]["continued"])


@pytest.mark.parametrize("name", NAMES)
def test_a_savedmodel_of_tensorflow_2_15_is_served(
    tensorflow: Any, reference: tuple[Path, dict[str, Any]], name: str
) -> None:
    directory, results = reference
    loaded = tensorflow.saved_model.load(str(directory / f"{name}-export"))
    tensors = {
        key: tensorflow.constant(value) for key, value in reference_trainings.request(name).items()
    }
    answer = loaded.signatures["serving_default"](**tensors)
    for key, expected in results[name]["predictions"].items():
        if key in answer and answer[key].dtype.is_floating:
            np.testing.assert_allclose(answer[key].numpy(), expected, rtol=1e-5, atol=1e-6)
    assert set(answer) & set(results[name]["predictions"])


def _train_with_2_15(directory: Path) -> None:
    paths = [str(ROOT / "inst" / "python"), str(ROOT / "tests" / "python")]
    finished = subprocess.run(
        [REFERENCE, "-m", "support.reference_trainings", directory],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=False,
        timeout=240,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
