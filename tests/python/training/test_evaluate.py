"""Evaluation and prediction: every row counts once, in order, on any devices."""

from __future__ import annotations

import importlib
import itertools
import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.callbacks import as_model_fn
from support.inputs import Factor, in_memory
from support.models import line, model, sgd
from support.sampling import sampled

from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, ModelDirectoryError, ModelError, ShardingError
from tfdistribute.inputs import Input, description
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, history, predict, train
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train_and_evaluate import train_and_evaluate

# A prime number of rows, in batches of four.
X = np.random.default_rng(1).normal(size=13)
Y = (X + np.random.default_rng(2).normal(size=13) > 0).astype(float)
ON_TWO = read(RunSettings, {"eval_distribute": {"kind": "mirrored", "devices": 2}})


def rows_in_memory(rows: int) -> Input:
    return in_memory({"x": X[:rows], "y": Y[:rows]}, batch_size=4)


def csv(folder: Path, rows: int) -> Input:
    path = folder / f"{rows}.csv"
    pairs = zip(X[:rows].tolist(), Y[:rows].tolist(), strict=True)
    path.write_text("x,y\n" + "".join(f"{x!r},{y}\n" for x, y in pairs), encoding="utf-8")
    return read(Input, {"kind": "csv", "paths": str(path), "response": "y", "batch_size": 4})


def expected(scores: Any, labels: Any) -> dict[str, float]:
    # TensorFlow integrates the curve over 200 points.
    above = scores[None, :] > np.linspace(0, 1, 200)[:, None]
    hits = (above & (labels == 1)).sum(1) / labels.sum()
    alarms = (above & (labels == 0)).sum(1) / (1 - labels).sum()
    losses = -np.where(labels == 1, np.log(scores), np.log(1 - scores))
    return {
        "average_loss": losses.mean(),
        "accuracy": ((scores > 0.5) == labels).mean(),
        "accuracy_baseline": max(labels.mean(), 1 - labels.mean()),
        "auc": ((hits[:-1] + hits[1:]) / 2 * (alarms[:-1] - alarms[1:])).sum(),
    }


@pytest.mark.parametrize("ending", [".data-00000-of-00001", ".index"])
def test_a_checkpoint_that_a_training_removes_meanwhile_is_named(
    tmp_path: Path, tensorflow: Any, monkeypatch: pytest.MonkeyPatch, ending: str
):
    model = line(tmp_path)
    train(model, RunSettings(), rows_in_memory(8), steps=1)
    uses = importlib.import_module("tfdistribute.training.evaluate")
    prepare_use = uses.prepare_use

    def prepare_while_a_file_is_removed(*arguments: Any) -> Any:
        prepared, checkpoint = prepare_use(*arguments)
        os.unlink(checkpoint + ending)
        return prepared, checkpoint

    monkeypatch.setattr(uses, "prepare_use", prepare_while_a_file_is_removed)
    with pytest.raises(ModelDirectoryError, match="was removed while it was in use"):
        evaluate(model, RunSettings(), rows_in_memory(8))


@pytest.mark.smoke
def test_metrics_are_those_of_all_rows(
    tmp_path: Path, tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    events: list[dict[str, Any]] = []
    monkeypatch.setattr(history, "FIRST_REPORT_S", 0)
    monkeypatch.setattr(history, "REPORT_EVERY_S", 0)
    # Evaluations read batches of five rows.
    monkeypatch.setattr(description, "PREDICTED_ROWS", 5)
    monkeypatch.setattr("tfdistribute.engine.inference.session.MOST_ROWS", 5)
    fields = {
        "kind": "linear_classifier",
        "feature_columns": [{"kind": "numeric", "key": "x"}],
        "model_dir": str(tmp_path / "model"),
    }
    model = read(Model, fields)
    train(model, RunSettings(), rows_in_memory(13), steps=3)
    batches = predict(model, RunSettings(), csv(tmp_path, 13), listener=events.append)
    scores = concatenate(batches)["logistic"].ravel()
    # Row order is kept: the model is a monotone function of x.
    assert np.array_equal(np.argsort(scores), np.argsort(X))
    for source, rows, settings in (
        (rows_in_memory(13), 13, RunSettings()),
        (csv(tmp_path, 13), 13, RunSettings()),
        (csv(tmp_path, 12), 12, ON_TWO),
    ):
        found = evaluate(model, settings, source, listener=events.append)
        wanted = expected(scores[:rows].astype(float), Y[:rows])
        assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-5)
    told = [(event["verb"], event["step"], event["last_step"]) for event in events]
    assert told[:4] == [("predict", step, 4) for step in (1, 2, 3, 4)]
    assert told[4:7] == [("evaluate", step, 3) for step in (1, 2, 3)]
    # TensorFlow might or might not count the last batch.
    with pytest.raises(ShardingError, match="counts an odd last batch wrongly"):
        evaluate(model, ON_TWO, csv(tmp_path, 13))


@sampled(
    ("settings", "label"),
    list(itertools.product([RunSettings(), ON_TWO], [0.0, 1.0])),
    check=[(ON_TWO, 0.0)],
)
def test_areas_under_curves_are_not_defined_for_one_class(
    tmp_path: Path, tensorflow: Any, label: float, settings: RunSettings
):
    fields = {"feature_columns": [{"kind": "numeric", "key": "x"}]}
    classifier = model("linear_classifier", tmp_path / "model", **fields)
    train(classifier, RunSettings(), rows_in_memory(13), steps=3)
    areas = ("auc", "auc_precision_recall")
    both = evaluate(classifier, settings, rows_in_memory(12))
    assert all(0 < both[name] < 1 for name in areas)
    of_one = in_memory({"x": X[:12], "y": np.full(12, label)}, batch_size=4)
    one = evaluate(classifier, settings, of_one)
    assert all(math.isnan(one[name]) for name in areas)
    assert one["label/mean"] == label


def test_each_value_of_a_metric_has_a_name(tmp_path: Path, tensorflow: Any):
    v1 = tensorflow.compat.v1

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        weight = v1.get_variable("weight", initializer=1.0)
        output = tensorflow.sigmoid(weight * features["x"])
        loss = tensorflow.reduce_mean((labels - output) ** 2)
        metrics = {
            "at": v1.metrics.precision_at_thresholds(labels, output, [0.3, 0.7]),
            "square": v1.metrics.mean_tensor(tensorflow.fill([2, 2], weight)),
            **({} if mode != "eval" or name is None else {name: v1.metrics.mean(output)}),
        }
        return {"loss": loss, "optimizer": "sgd", "eval_metric_ops": metrics}

    name = None
    custom = model("custom", tmp_path / "model", model_fn=as_model_fn(model_fn))
    specs = (TrainSpec(rows_in_memory(12), max_steps=2), EvalSpec(rows_in_memory(12)))
    evaluations = train_and_evaluate(custom, RunSettings(), *specs).evaluations
    found = evaluate(custom, RunSettings(), rows_in_memory(12))
    assert evaluations == [pytest.approx(found)]
    scores = 1 / (1 + np.exp(-found["square_1_1"] * X[:12]))
    for column, threshold in (("at_1", 0.3), ("at_2", 0.7)):
        assert found[column] == pytest.approx(Y[:12][scores > threshold].mean())
    assert {each for each in found if each.startswith("square")} == {
        f"square_{row}_{column}" for row in (1, 2) for column in (1, 2)
    }
    assert history.read_history(custom.model_dir)["evaluation"] == [pytest.approx(found)]
    name = "at_2"
    with pytest.raises(ModelError, match='Two values of the metrics are called "at_2"'):
        evaluate(custom, RunSettings(), rows_in_memory(12))


NO_ROW_PER_ROW = {
    "fewer rows": (
        lambda p: {"p": p, "s": p[:2]},
        '"s" of .* has 2 rows in a batch, where "p" has 6',
    ),
    "one row": (lambda p: {"s": p[:1], "p": p}, '"s" of .* has 1 row in a batch, where "p" has 6'),
    "a scalar": (lambda p: {"p": p, "s": p[0]}, '"s" of .* has no row in a batch, where "p" has 6'),
    "only a scalar": (lambda p: {"s": p[0]}, '"s" of `predictions` has no row in a batch.'),
    "only fewer rows": (lambda p: {"s": p[:2]}, "has 2 rows for 6 rows of features"),
}


@pytest.mark.parametrize("how", NO_ROW_PER_ROW)
def test_an_output_without_a_row_per_row_is_named(tmp_path: Path, tensorflow: Any, how: str):
    outputs, message = NO_ROW_PER_ROW[how]

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output = tensorflow.compat.v1.get_variable("w", initializer=1.0) * features["x"]
        if mode == "infer":
            return {"predictions": outputs(output)}
        return {"loss": tensorflow.reduce_mean((labels - output) ** 2), "optimizer": "sgd"}

    custom = model("custom", tmp_path / "model", model_fn=as_model_fn(model_fn))
    train(custom, RunSettings(), rows_in_memory(12), steps=1)
    batches = predict(custom, RunSettings(), rows_in_memory(6).in_large_batches())
    with pytest.raises(ModelError, match=message):
        concatenate(batches)
    if '"p"' in message:
        right = predict(custom, RunSettings(), rows_in_memory(6), predict_keys=["p"])
        assert len(concatenate(right)["p"]) == 6


def test_the_last_name_of_the_vocabulary_is_the_class_that_precision_and_recall_count(
    tmp_path: Path, tensorflow: Any
):
    labels = np.where(X > 0.3, "Yes", "No").astype(object)
    factor = Factor((X > 0.3).astype("int32"), ("No", "Yes"))
    source = in_memory({"x": X, "y": factor}, batch_size=13)
    fields = {
        "feature_columns": [{"kind": "numeric", "key": "x"}],
        "optimizer": sgd(0.5),
    }
    for names in (["No", "Yes"], ["Yes", "No"]):
        directory = tmp_path / names[1]
        classifier = model("linear_classifier", directory, label_vocabulary=names, **fields)
        train(classifier, RunSettings(), source, steps=1)
        classes = concatenate(predict(classifier, RunSettings(), source))["classes"].ravel()
        is_counted, is_predicted = labels == names[1], classes == names[1]
        found = evaluate(classifier, RunSettings(), source)
        hits = (is_counted & is_predicted).sum()
        assert found["precision"] == pytest.approx(hits / is_predicted.sum())
        assert found["recall"] == pytest.approx(hits / is_counted.sum())


@sampled("from_file", [False, True], check=[True])
def test_a_logical_response_is_predicted_as_false_and_true(
    tmp_path: Path, tensorflow: Any, from_file: bool
):
    source: Any = in_memory({"x": X, "y": Y == 1}, batch_size=4)
    if from_file:
        path = tmp_path / "rows.csv"
        pairs = zip(X.tolist(), Y.tolist(), strict=True)
        lines = [f"{x!r},{'TRUE' if y else 'FALSE'}\n" for x, y in pairs]
        path.write_text("x,y\n" + "".join(lines), encoding="utf-8")
        fields = {"paths": str(path), "response": "y", "batch_size": 4}
        source = read(Input, {"kind": "csv", "types": {"y": "logical"}, **fields})
    fields = {"feature_columns": [{"kind": "numeric", "key": "x"}]}
    logical, numbers = (
        model("linear_classifier", tmp_path / name, **fields) for name in ("logical", "numbers")
    )
    train(logical, RunSettings(), source, steps=3)
    train(numbers, RunSettings(), csv(tmp_path, 13) if from_file else rows_in_memory(13), steps=3)
    expected = evaluate(numbers, RunSettings(), rows_in_memory(13))
    for used in (logical, numbers):
        assert evaluate(used, RunSettings(), source) == pytest.approx(expected)
    # Numbers mean the same classes.
    assert evaluate(logical, RunSettings(), rows_in_memory(13)) == pytest.approx(expected)
    found = concatenate(predict(logical, RunSettings(), source))
    names = np.array(["FALSE", "TRUE"], dtype=object)
    np.testing.assert_array_equal(found["classes"], names[found["class_ids"]])


def test_ctrl_c_ends_an_evaluation_of_a_training_and_its_metrics_are_dropped(
    tmp_path: Path, tensorflow: Any
):
    class Presses(tensorflow.estimator.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            pressed.append(True)
            if len(pressed) == 1:
                os.kill(os.getpid(), signal.SIGINT)

    events: list[dict[str, Any]] = []
    pressed: list[bool] = []
    model = read(
        Model,
        {
            "kind": "linear_regressor",
            "feature_columns": [{"kind": "numeric", "key": "x"}],
            "model_dir": str(tmp_path / "model"),
        },
    )
    specs = (
        TrainSpec(rows_in_memory(12), max_steps=3),
        EvalSpec(rows_in_memory(12), hooks=(Presses(),)),
    )
    with pytest.raises(KeyboardInterrupt):
        train_and_evaluate(model, RunSettings(), *specs, listener=events.append)
    assert len(pressed) < 3
    assert not any(event["event"] == "evaluation" for event in events)
    # Nothing is lost, and the next call works.
    assert evaluate(model, RunSettings(), rows_in_memory(12))["global_step"] == 3


@pytest.mark.parametrize(
    ("fields", "hooks", "batches"),
    [
        ({}, False, 1),
        # A hook sees every batch.
        ({}, True, 4),
        # The loss is a sum over the rows of a batch.
        ({"loss_reduction": "sum"}, False, 4),
    ],
)
def test_batches_are_large_unless_they_matter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tensorflow: Any,
    fields: dict[str, Any],
    hooks: bool,
    batches: int,
):
    class Count(tensorflow.estimator.SessionRunHook):
        seen = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            Count.seen += 1

    described = {
        "kind": "linear_classifier",
        "feature_columns": [{"kind": "numeric", "key": "x"}],
        "model_dir": str(tmp_path / "model"),
        **fields,
    }
    model = read(Model, described)
    train(model, RunSettings(), rows_in_memory(13), steps=1)
    # Otherwise a fast evaluation is over before its first report.
    monkeypatch.setattr(history, "FIRST_REPORT_S", 0.0)
    events: list[dict[str, Any]] = []
    given = [Count()] if hooks else []
    evaluate(model, RunSettings(), rows_in_memory(13), hooks=given, listener=events.append)
    assert [each["last_step"] for each in events[-1:]] == [batches]
    assert Count.seen == (batches if hooks else 0)


def test_only_the_outputs_that_are_asked_for_are_computed(tmp_path: Path, tensorflow: Any):
    computed: list[set[str]] = []

    class Fetches(tensorflow.estimator.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            computed.append(set(run_context.original_args.fetches))

    described = {
        "kind": "linear_classifier",
        "feature_columns": [{"kind": "numeric", "key": "x"}],
        "model_dir": str(tmp_path / "model"),
    }
    model = read(Model, described)
    train(model, RunSettings(), rows_in_memory(13), steps=1)

    def predicted(keys: list[str] | None) -> dict[str, Any]:
        source = rows_in_memory(3)
        return concatenate(
            predict(model, RunSettings(), source, predict_keys=keys, hooks=[Fetches()])
        )

    assert set(predicted(["logistic", "unknown"])) == {"logistic"}
    assert all(each == {"logistic"} for each in computed)
    everything = predicted(None)
    assert {"logistic", "probabilities", "classes"} <= set(everything)
    above = everything["logistic"].ravel() > 0.5
    assert everything["classes"].ravel().tolist() == [str(int(each)) for each in above]
    with pytest.raises(ArgumentError, match="names none of this model's outputs"):
        predicted(["unknown"])
