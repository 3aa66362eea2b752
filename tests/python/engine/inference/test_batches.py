"""Evaluations and predictions batch by batch: TensorFlow's own numbers, and hooks that see every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models
from support.inputs import from_function, in_memory
from support.many_steps import LOOP, MODELS, X, Y, descent, described, source

from tfdistribute.errors import TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import evaluate, predict, train
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train_and_evaluate import train_and_evaluate

pytestmark = pytest.mark.usefixtures("tensorflow")

SETTINGS = RunSettings()


def several(features: Any, labels: Any, mode: Any) -> Any:
    """A model function with metrics and outputs of several kinds, some of which depend on the batches."""
    predicted = tf.compat.v1.layers.dense(features["x"], 1)
    is_high = tf.squeeze(predicted, 1) > 0
    if mode == tf.estimator.ModeKeys.PREDICT:
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
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = tf.compat.v1.metrics
        ops = {
            "error": metrics.mean_absolute_error(labels, predicted),
            "of_batches": metrics.mean(tf.square(tf.reduce_sum(predicted))),
            "count": metrics.true_positives(labels > 0, predicted > 0),
        }
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=ops)
    return descent(mode, loss)


CUSTOM = {"kind": "custom", "model_fn": several}
NUMERIC = [{"kind": "numeric", "key": "x", "shape": [models.FEATURES]}]
WEIGHTED = {
    "kind": "linear_regressor",
    "feature_columns": NUMERIC,
    "loss_reduction": "sum",
}
CANNED = {"kind": "linear_classifier", "feature_columns": NUMERIC}


class Count(tf.estimator.SessionRunHook):
    """Counts the batches that it sees."""

    seen = 0
    ended = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.seen += 1

    def end(self, session: Any) -> None:
        self.ended += 1


class Ends(tf.estimator.SessionRunHook):
    """Sees no batch."""

    ended = 0

    def end(self, session: Any) -> None:
        self.ended += 1


def labelled(input_context: Any = None) -> Any:
    del input_context
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(5)


def dataset() -> Any:
    return tf.data.Dataset.from_tensor_slices({"x": X}).batch(5)


def failing() -> Any:
    def checked(batch: Any) -> Any:
        wrong = tf.reduce_any(tf.equal(batch["x"], X[32, 0]))
        with tf.control_dependencies([tf.debugging.assert_equal(wrong, False, "a bad row")]):
            return tf.nest.map_structure(tf.identity, batch)

    return dataset().map(checked)


def rows() -> Input:
    return in_memory({"x": X, "y": Y}, batch_size=5, epochs=1)


def unlabelled() -> Input:
    return in_memory({"x": X}, None, batch_size=5, epochs=1)


def trained(model: Any, directory: Path) -> Model:
    label = (Y > 0).astype("int64") if model is CANNED else Y
    made = described(model, directory) if isinstance(model, dict) else model
    train(made, SETTINGS, in_memory({"x": X, "y": label}, batch_size=5), steps=4)
    return made


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert list(one) == list(other)
        for name in one:
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(one[name], other[name])


def batches(
    model: Model, data: Input | Callable[[], Any] = dataset, **options: Any
) -> Iterator[dict[str, Any]]:
    return predict(
        model, SETTINGS, data if isinstance(data, Input) else from_function(data), **options
    )


@pytest.mark.versions
def test_numbers_are_those_of_tensorflows_own_estimator(tmp_path: Path):
    model = trained(CUSTOM, tmp_path)
    plain = tf.estimator.Estimator(several, str(tmp_path))
    # Its loss is the mean over batches.
    names = ("error", "of_batches", "count", "global_step")
    for steps in (None, 1, 7, 100):
        expected = plain.evaluate(labelled, steps)
        for data in (rows(), from_function(labelled)):
            found = evaluate(model, SETTINGS, data, steps=steps)
            assert [found[name] for name in names] == pytest.approx(
                [expected[name] for name in names], rel=1e-6
            )
    expected = list(plain.predict(dataset, yield_single_examples=False))
    for each in expected:
        each["word"] = np.array([word.decode() for word in each["word"]], object)
    # 44 rows in batches of five: the last has four.
    assert_same(list(batches(model)), expected)
    assert_same(list(batches(model, unlabelled())), expected)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (WEIGHTED, rows),
        (MODELS["keras"], rows),
        (LOOP, lambda: from_function(labelled)),
    ],
    ids=["sum of losses", "keras", "training loop"],
)
def test_an_evaluation_gives_the_numbers_of_one_with_hooks(tmp_path: Path, model: Any, data: Any):
    model, hook = trained(model, tmp_path), Count()
    expected = evaluate(model, SETTINGS, data(), steps=100, hooks=[hook])
    assert hook.seen == 9
    assert evaluate(model, SETTINGS, data(), steps=100) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", [CANNED, LOOP, MODELS["keras"]], ids=["canned", "loop", "keras"])
def test_a_prediction_gives_the_batches_of_one_with_hooks(tmp_path: Path, model: Any):
    model = trained(model, tmp_path)
    hook = Count()
    expected = list(batches(model, hooks=[hook]))
    assert hook.seen == 9
    assert_same(list(batches(model)), expected)


def test_hooks_end_with_an_evaluation_and_with_a_prediction(tmp_path: Path):
    model = trained(CUSTOM, tmp_path)
    hooks = [Count(), Ends()]
    evaluate(model, SETTINGS, rows(), hooks=hooks)
    assert [each.ended for each in hooks] == [1, 1]
    assert len(list(batches(model, hooks=hooks))) == 9
    assert [each.ended for each in hooks] == [2, 2]
    next(batches(model, hooks=hooks))
    assert [each.ended for each in hooks] == [2, 2]


def test_a_hook_ends_an_evaluation(tmp_path: Path):
    class Stop(Count):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            super().after_run(run_context, run_values)
            if self.seen == 3:
                run_context.request_stop()

    model, hook = trained(CUSTOM, tmp_path), Stop()
    found = evaluate(model, SETTINGS, rows(), hooks=[hook])
    assert hook.seen == 3
    assert found["of_batches"] == evaluate(model, SETTINGS, rows(), steps=3)["of_batches"]


def test_rows_in_memory_are_predicted_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    # TensorFlow warns of an input without a dataset.
    tf.get_logger().propagate = True
    try:
        assert len(list(batches(trained(CUSTOM, tmp_path), unlabelled()))) == 9
    finally:
        tf.get_logger().propagate = False
    assert "yields forever" not in caplog.text


def test_only_the_outputs_that_are_wanted_are_computed(tmp_path: Path):
    model = trained(CUSTOM, tmp_path)
    assert {*next(batches(model, predict_keys=["word", "none"]))} == {"word"}
    shown = next(batches(model, hidden_keys=["word", "count", "none"]))
    assert {*shown} == {"value", "pairs", "high"}
    # A choice by name is not restricted.
    chosen = next(batches(model, predict_keys=["word"], hidden_keys=["word"]))
    assert {*chosen} == {"word"}


def test_a_batch_is_computed_when_it_is_asked_for(tmp_path: Path):
    computed: list[int] = []

    def note(values: Any) -> Any:
        computed.append(len(values))
        return values

    def noting(features: Any, labels: Any, mode: Any) -> Any:
        if mode != tf.estimator.ModeKeys.PREDICT:
            return several(features, labels, mode)
        noted = tf.numpy_function(note, [features["x"]], tf.float32)
        return tf.estimator.EstimatorSpec(mode, predictions={"noted": noted})

    model = trained({"kind": "custom", "model_fn": noting}, tmp_path)
    for data in (dataset, unlabelled()):
        computed.clear()
        found = batches(model, data)
        for count in (1, 2, 3):
            next(found)
            assert computed == [5] * count


def test_an_error_of_the_input_comes_after_the_batches_before_it(tmp_path: Path):
    model = trained(CUSTOM, tmp_path)
    errors: list[TfdistributeError] = []
    for hooks in ([], [Count()]):
        before = 0
        with pytest.raises(TfdistributeError, match="a bad row") as caught:
            for _ in batches(model, failing, hooks=hooks):
                before += 1
        # The seventh batch holds the row.
        assert before == 6
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1])


def test_a_loss_that_is_not_a_number_does_not_end_an_evaluation(tmp_path: Path):
    model, hook = trained(CUSTOM, tmp_path), Count()
    labels = np.where(np.arange(len(Y)) == 12, np.nan, Y[:, 0]).reshape(-1, 1)
    data = in_memory({"x": X, "y": labels}, batch_size=5, epochs=1)
    found, expected = evaluate(model, SETTINGS, data), evaluate(model, SETTINGS, data, hooks=[hook])
    assert hook.seen == 9
    assert np.isnan(found["loss"])
    assert found["count"] == expected["count"]
    assert found["of_batches"] == pytest.approx(expected["of_batches"], rel=1e-6)


def test_the_evaluations_of_a_training_are_those_of_evaluate(tmp_path: Path):
    model = described(CUSTOM, tmp_path)
    specs = (TrainSpec(source(), max_steps=6), EvalSpec(rows(), throttle_secs=0))
    found = train_and_evaluate(model, SETTINGS, *specs).evaluations[-1]
    expected = evaluate(model, SETTINGS, rows())
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6)
