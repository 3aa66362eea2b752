"""Predictions with many batches per run: those of one batch per run, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models
from support.inputs import from_function, in_memory
from support.many_steps import LOOP, MODELS, X, Y, descent, described

from tfdistribute.errors import TfdistributeError
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenated, predict, train

pytestmark = pytest.mark.usefixtures("tensorflow")

ONE, MANY = RunSettings(steps_per_run=1), RunSettings(steps_per_run=3)


def several_outputs(features: Any, labels: Any, mode: Any) -> Any:
    predicted = tf.compat.v1.layers.dense(features["x"], 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        is_high = tf.squeeze(predicted, 1) > 0
        outputs = {
            "value": predicted,
            "word": tf.where(is_high, "h\u00f6her", "tiefer"),
            "pairs": tf.reshape(features["x"], [-1, 2, 2]),
            # The same for the batch, and as wide as the batch has high values.
            "count": tf.reduce_sum(tf.cast(is_high, tf.int64)),
            "high": tf.boolean_mask(predicted, is_high),
        }
        return tf.estimator.EstimatorSpec(mode, predictions=outputs)
    loss = tf.compat.v1.losses.mean_squared_error(labels, predicted)
    return descent(mode, loss)


CUSTOM = {"kind": "custom", "model_fn": several_outputs}
CANNED = {
    "kind": "linear_classifier",
    "feature_columns": [{"kind": "numeric", "key": "x", "shape": [models.FEATURES]}],
}


def dataset() -> Any:
    return tf.data.Dataset.from_tensor_slices({"x": X}).batch(5)


def failing() -> Any:
    def checked(batch: Any) -> Any:
        wrong = tf.reduce_any(tf.equal(batch["x"], X[32, 0]))
        with tf.control_dependencies([tf.debugging.assert_equal(wrong, False, "a bad row")]):
            return tf.nest.map_structure(tf.identity, batch)

    return dataset().map(checked)


def trained(model: Any, directory: Path) -> Model:
    label = (Y > 0).astype("int64") if model is CANNED else Y
    made = described(model, directory) if isinstance(model, dict) else model
    train(made, ONE, in_memory({"x": X, "y": label}, batch_size=5), steps=4)
    return made


def batches(
    model: Model, settings: RunSettings, data: Callable[[], Any] = dataset, **options: Any
) -> Iterator[dict[str, Any]]:
    return predict(model, settings, from_function(data), **{"ahead": True, **options})


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert list(one) == list(other)
        for name in one:
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize(
    "model", [CUSTOM, CANNED, LOOP, MODELS["keras"]], ids=["custom", "canned", "loop", "keras"]
)
def test_batches_are_those_of_one_batch_per_run(tmp_path: Path, runs: list[int], model: Any):
    model = trained(model, tmp_path)
    expected = list(batches(model, ONE))
    assert runs == []
    # 44 rows in batches of five: the last has four.
    assert_same(list(batches(model, MANY)), expected)
    assert sum(runs) in (5, 6)


def test_only_the_outputs_that_are_wanted_are_computed(tmp_path: Path, runs: list[int]):
    model = trained(CUSTOM, tmp_path)
    assert {*next(batches(model, MANY, predict_keys=["word", "none"]))} == {"word"}
    shown = next(batches(model, MANY, hidden_keys=["word", "count", "none"]))
    assert {*shown} == {"value", "pairs", "high"}
    # A choice by name is not restricted.
    chosen = next(batches(model, MANY, predict_keys=["word"], hidden_keys=["word"]))
    assert {*chosen} == {"word"}


def test_a_hook_sees_every_batch(tmp_path: Path, runs: list[int]):
    class Count(tf.estimator.SessionRunHook):
        seen = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            Count.seen += 1

    model = trained(CUSTOM, tmp_path)
    assert len(list(batches(model, MANY, hooks=[Count()]))) == 9
    assert Count.seen == 9
    assert runs == []


def test_batches_that_are_asked_for_one_by_one_are_not_computed_ahead(
    tmp_path: Path, runs: list[int]
):
    model = trained(CUSTOM, tmp_path)
    assert len(list(batches(model, MANY, ahead=False))) == 9
    assert runs == []


def test_an_error_of_the_input_comes_after_the_batches_before_it(tmp_path: Path, runs: list[int]):
    model = trained(CUSTOM, tmp_path)
    before: dict[int, int] = {}
    errors: dict[int, TfdistributeError] = {}
    for settings in (ONE, MANY):
        steps, before[steps] = settings.steps_per_run, 0
        with pytest.raises(TfdistributeError, match="a bad row") as caught:
            for _ in batches(model, settings, failing):
                before[steps] += 1
        errors[steps] = caught.value
    # The seventh batch holds the row.
    assert before == {1: 6, 3: 6}
    assert type(errors[3]) is type(errors[1])
    assert runs != []


def test_a_run_ends_when_it_keeps_enough_predictions(
    tmp_path: Path, runs: list[int], monkeypatch: pytest.MonkeyPatch
):
    from tfdistribute.engine.passes import prediction_runs

    class Counted(prediction_runs.PredictionRuns):
        most = 0

        def taken(self) -> Iterator[Any]:
            Counted.most = max(Counted.most, len(self._kept))
            return super().taken()

    monkeypatch.setattr("tfdistribute.engine.passes.evaluating_estimator.PredictionRuns", Counted)
    model, settings = trained(CANNED, tmp_path), RunSettings(steps_per_run=7)
    expected = concatenated(batches(model, settings))
    assert Counted.most == 6
    Counted.most = 0
    monkeypatch.setattr(prediction_runs, "MOST_BYTES", 1)
    found = concatenated(batches(model, settings))
    assert Counted.most == 1
    assert_same([found], [expected])
