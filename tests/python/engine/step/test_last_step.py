"""The end of the input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")

from support.checkpoints import assert_identical
from support.many_steps import VOCABULARY, source, trained

from tfdistribute.engine.step.passes import VARIABLE

pytestmark = pytest.mark.usefixtures("tensorflow")


@pytest.mark.parametrize("passes", ["", "-resident_rows"])
@pytest.mark.parametrize("optimizer", ["Adam", "RMSprop"])
def test_a_training_that_ends_with_its_input_changes_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str, passes: str
):
    monkeypatch.setenv(VARIABLE, passes)
    model: dict[str, Any] = {
        "kind": "dnn_regressor",
        "hidden_units": [3],
        "feature_columns": [
            {"kind": "embedding", "categorical_column": VOCABULARY, "dimension": 2}
        ],
        "optimizer": {"kind": "named", "name": optimizer, "settings": {"learning_rate": 0.05}},
    }
    data = source(1)
    # 44 rows are six steps.
    for steps_per_run in (1, 3):
        name = str(steps_per_run)
        ended, _ = trained(model, tmp_path / name / "ended", steps_per_run, data=data)
        stopped, _ = trained(model, tmp_path / name / "stopped", steps_per_run, data=data, steps=6)
        assert ended["global_step"] == 6
        assert_identical(ended, stopped)
