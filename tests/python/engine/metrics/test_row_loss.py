"""The loss of an evaluation: a mean over rows, however they fall into batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.models import Model
from tfdistribute.models.custom import Custom
from tfdistribute.run_config import RunSettings
from tfdistribute.training import evaluate, train

ROWS = 13
X = np.random.default_rng(1).normal(size=ROWS)
Y = np.random.default_rng(2).normal(size=ROWS)
WEIGHTS = np.arange(1.0, ROWS + 1)


def model_fn(features: Any, labels: Any, mode: str) -> dict[str, Any]:
    tf = engine.tf
    predicted = features["x"] * tf.compat.v1.get_variable("slope", [])
    loss = tf.reduce_mean(tf.square(predicted - labels))
    return {"loss": loss, "predictions": {"y": predicted}, "optimizer": "sgd"}


def test_a_custom_models_loss_is_the_mean_over_rows(tensorflow: Any, tmp_path: Path) -> None:
    model = Custom(str(tmp_path), model_fn)
    source = in_memory({"x": X, "y": Y}, batch_size=4)
    train(model, RunSettings(), source, steps=3)
    slope = engine.tf.train.load_variable(str(tmp_path), "slope")
    # The last batch has one row, which would count as much as four.
    expected = np.mean((slope * X.astype(np.float32) - Y.astype(np.float32)) ** 2)
    found = evaluate(model, RunSettings(), source)
    assert found["loss"] == pytest.approx(expected, rel=1e-6)
    assert set(found) == {"loss", "global_step"}
    # TensorBoard and exporters read the same number.
    (file,) = (tmp_path / "eval").glob("events*")
    summaries = [
        value.simple_value
        for event in tensorflow.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
        if value.tag == "loss"
    ]
    assert summaries == [pytest.approx(expected, rel=1e-6)]


def test_weights_count_in_the_loss_of_their_rows(tensorflow: Any, tmp_path: Path) -> None:
    del tensorflow
    fields = {
        "kind": "linear_regressor",
        "feature_columns": [{"kind": "numeric", "key": "x"}],
        "weight_column": "w",
        "model_dir": str(tmp_path),
    }
    model = read(Model, fields)
    losses = {}
    for batch_size in (4, ROWS):
        source = in_memory({"x": X, "w": WEIGHTS, "y": Y}, batch_size=batch_size)
        if batch_size == 4:
            train(model, RunSettings(), source, steps=3)
        losses[batch_size] = evaluate(model, RunSettings(), source)
    assert losses[4]["loss"] == pytest.approx(losses[ROWS]["loss"], rel=1e-6)
    # The loss divides by the rows, and the mean over weighted rows by their weights.
    mean = losses[4]["average_loss"] * WEIGHTS.sum() / ROWS
    assert losses[4]["loss"] == pytest.approx(mean, rel=1e-6)
