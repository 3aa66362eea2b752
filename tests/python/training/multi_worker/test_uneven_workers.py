"""Steps whose rows do not divide over the workers: every row counts alike, as in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import cluster_task
from support.checkpoints import assert_alike, variables
from support.cluster_job import job
from support.sampling import sampled

MODELS = ["custom", "loop", "sparse", "weighted", "keras", "clipped"]

pytestmark = pytest.mark.jobs


@sampled(
    ("rows", "passes", "micro_batches"),
    [
        *((84 + left, "", 1) for left in range(1, cluster_task.BATCH)),
        (85, "-resident_rows", 1),
        (95, "-resident_rows", 1),
        (85, "", 2),
        (87, "-resident_rows", 2),
    ],
    check=[(85, "", 1)],
)
def test_every_row_counts_alike(
    tensorflow: Any, tmp_path: Path, rows: int, passes: str, micro_batches: int
) -> None:
    """With rows in memory the numbers of rows are known in advance; datasets count them in each step.

    If one row is left, one of the workers has none.
    """
    options = {
        "models": MODELS,
        "rows": rows,
        "epochs": 1,
        "in_order": MODELS,
        "verb": "train",
        "hooks": [{"kind": "history_saver", "every_n_steps": 1}],
    }
    config = {"strategy": {"kind": "multi_worker"}, "micro_batches": micro_batches}
    with job(tmp_path / "job", {**options, "config": config}) as running:
        running.start_all(TFDISTRIBUTE_PASSES=passes)
        assert set(running.wait("chief-0", "worker-0").values()) == {0}, running.logs()
    for model in MODELS:
        answer = cluster_task.train(tmp_path / "alone", model, options)
        assert "value" in answer, answer["error"]["traceback"]
        assert_alike(
            variables(running.model_dir(model)), variables(tmp_path / "alone" / model / "model")
        )
        losses = answer["value"]["training"]["loss"]
        assert len(losses) == -(-rows // cluster_task.BATCH)
        for name in ("chief-0", "worker-0"):
            found = running.value(name, model)["training"]["loss"]
            np.testing.assert_allclose(found, losses, rtol=2e-6, err_msg=f"{model} {name}")
