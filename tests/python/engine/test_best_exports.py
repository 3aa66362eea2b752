"""The best export of a model, over restarts of its training and of its evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.hooks import model, source
from support.inputs import in_memory
from support.sampling import sampled

from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train_and_evaluate import train_and_evaluate

X = np.arange(8, dtype="float32") / 8


@pytest.fixture
def train_to(tensorflow: Any, tmp_path: Path) -> Any:
    """Train to a step in what might be a new process, and return the names and the loss of the exports."""

    def receive() -> Any:
        x = tensorflow.compat.v1.placeholder(tensorflow.float32, [None], name="x")
        return tensorflow.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    def better(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
        return current_eval_result["average_loss"] < best_eval_result["average_loss"]

    def loss_of(path: Path) -> float:
        served = tensorflow.saved_model.load(str(path)).signatures["predict"]
        found = served(x=tensorflow.constant(X))["predictions"].numpy().ravel()
        return float(np.mean((found - 2 * X) ** 2))

    def train(steps: int, rate: float, **fields: Any) -> dict[str, float]:
        exporter = tensorflow.estimator.BestExporter(
            "best", receive, compare_fn=better, exports_to_keep=1, **fields
        )
        rows = in_memory({"x": X, "y": 2 * X}, batch_size=8)
        train_and_evaluate(
            model(tmp_path, rate),
            RunSettings(save_checkpoints_steps=10),
            TrainSpec(source(), max_steps=steps),
            EvalSpec(rows, exporters=(exporter,), throttle_secs=0),
        )
        return {path.name: loss_of(path) for path in (tmp_path / "export" / "best").iterdir()}

    return train


@pytest.mark.versions
@sampled("fields", [{}, {"event_file_pattern": None}], check=[{"event_file_pattern": None}])
def test_a_restart_keeps_the_best_export_until_a_model_is_better(
    train_to: Any, fields: dict[str, Any]
) -> None:
    first = train_to(20, 0.02, **fields)
    assert train_to(22, 5.0, **fields) == first
    better = train_to(60, 0.1, **fields)
    assert list(better) != list(first)
    assert min(better.values()) < min(first.values())


def test_an_evaluation_of_other_rows_does_not_change_what_the_best_export_is_compared_with(
    train_to: Any, tmp_path: Path
) -> None:
    first = train_to(20, 0.02)
    others = in_memory({"x": X, "y": 100 + X}, batch_size=8)
    assert evaluate(model(tmp_path), RunSettings(), others)["loss"] > 1000
    assert train_to(22, 5.0) == first


def test_an_evaluation_without_an_export_is_not_the_best_one(train_to: Any, tmp_path: Path) -> None:
    (name,) = train_to(20, 0.02)
    # As if the process had ended before the export, an hour ago: exports are named by the second of their time.
    (tmp_path / "export" / "best" / name).rename(
        tmp_path / "export" / "best" / f"temp-{int(name) - 3600}"
    )
    assert any(each.isdecimal() for each in train_to(22, 5.0))
