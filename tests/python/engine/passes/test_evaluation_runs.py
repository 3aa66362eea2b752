"""Evaluations with many batches per run: the numbers of one batch per run, and hooks that see every batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models
from support.inputs import from_function, in_memory
from support.many_steps import LOOP, MODELS, X, Y, descent, described, source

from tfdistribute.inputs import Input
from tfdistribute.run_config import RunSettings
from tfdistribute.training import evaluate, train
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train_and_evaluate import train_and_evaluate

pytestmark = pytest.mark.usefixtures("tensorflow")

ONE, MANY = RunSettings(steps_per_run=1), RunSettings(steps_per_run=3)


def mean_and_sum(features: Any, labels: Any, mode: Any) -> Any:
    predicted = tf.compat.v1.layers.dense(features["x"], 1)
    loss = tf.compat.v1.losses.mean_squared_error(labels, predicted)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = tf.compat.v1.metrics
        ops = {
            "error": metrics.mean_absolute_error(labels, predicted),
            # What depends on the batches shows whether they are the same.
            "of_batches": metrics.mean(tf.square(tf.reduce_sum(predicted))),
            "count": metrics.true_positives(labels > 0, predicted > 0),
        }
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=ops)
    return descent(mode, loss)


CUSTOM = {"kind": "custom", "model_fn": mean_and_sum}
WEIGHTED = {
    "kind": "linear_regressor",
    "feature_columns": [{"kind": "numeric", "key": "x", "shape": [models.FEATURES]}],
    "loss_reduction": "sum",
}


def dataset(input_context: Any = None) -> Any:
    del input_context
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(5)


def rows() -> Input:
    return in_memory({"x": X, "y": Y}, batch_size=5, num_epochs=1)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (CUSTOM, rows),
        (CUSTOM, lambda: from_function(dataset)),
        (WEIGHTED, rows),
        (MODELS["keras"], rows),
        (LOOP, lambda: from_function(dataset)),
    ],
    ids=["custom", "dataset", "sum of losses", "keras", "training loop"],
)
def test_numbers_are_those_of_one_batch_per_run(
    tmp_path: Path, runs: list[int], model: Any, data: Any
):
    trained = described(model, tmp_path) if isinstance(model, dict) else model
    train(trained, ONE, rows(), steps=4)
    # A number of steps counts the batches of the input, also where large ones would do.
    expected = evaluate(trained, ONE, data(), steps=100)
    assert runs == []
    # 44 rows in batches of five: one batch, two in a loop, and so on; four rows are left.
    assert evaluate(trained, MANY, data(), steps=100) == pytest.approx(expected, rel=1e-6)
    assert sum(runs) in (5, 6)


@pytest.mark.parametrize("steps", [1, 2, 4, 7])
def test_the_number_of_batches_is_honoured(tmp_path: Path, runs: list[int], steps: int):
    model = described(CUSTOM, tmp_path)
    train(model, ONE, rows(), steps=4)
    expected = evaluate(model, ONE, rows(), steps=steps)
    assert evaluate(model, MANY, rows(), steps=steps) == expected
    assert sum(runs) <= steps - 1


def test_a_hook_sees_every_batch(tmp_path: Path, runs: list[int]):
    class Count(tf.estimator.SessionRunHook):
        seen = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            Count.seen += 1

    class Ends(tf.estimator.SessionRunHook):
        ended = 0

        def end(self, session: Any) -> None:
            Ends.ended += 1

    model = described(CUSTOM, tmp_path)
    train(model, ONE, rows(), steps=4)
    evaluate(model, MANY, rows(), hooks=[Count()])
    assert Count.seen == 9
    assert runs == []
    evaluate(model, MANY, rows(), hooks=[Ends()])
    assert Ends.ended == 1
    assert runs != []


def test_a_loss_that_is_not_a_number_does_not_end_an_evaluation(tmp_path: Path, runs: list[int]):
    model = described(CUSTOM, tmp_path)
    train(model, ONE, rows(), steps=4)
    labels = np.where(np.arange(len(Y)) == 12, np.nan, Y[:, 0]).reshape(-1, 1)
    source = in_memory({"x": X, "y": labels}, batch_size=5, num_epochs=1)
    found, expected = evaluate(model, MANY, source), evaluate(model, ONE, source)
    assert np.isnan(found["loss"])
    assert found["count"] == expected["count"]
    assert found["of_batches"] == pytest.approx(expected["of_batches"], rel=1e-6)


def test_evaluations_of_a_training_take_many_batches_too(tmp_path: Path, runs: list[int]):
    one, many = described(CUSTOM, tmp_path / "1"), described(CUSTOM, tmp_path / "2")
    specs = (TrainSpec(source(), max_steps=6), EvalSpec(rows(), throttle_secs=0))
    expected = train_and_evaluate(one, ONE, *specs).evaluations[-1]
    assert runs == []
    found = train_and_evaluate(many, MANY, *specs).evaluations[-1]
    assert found == pytest.approx(expected, rel=1e-6)
