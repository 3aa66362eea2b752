"""Repaired Estimators: reported losses, sessions, evaluations and exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.models import Model

ROWS, BATCH, STEPS = 64, 8, 4


def model(kind: str, model_dir: Path, loss_reduction: str) -> Model:
    numeric = {"kind": "numeric", "key": "x", "shape": 3}
    sgd = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.01}}
    fields: dict[str, Any] = {
        "linear_regressor": {"feature_columns": [numeric], "optimizer": sgd},
        "dnn_classifier": {
            "feature_columns": [numeric],
            "hidden_units": 4,
            "optimizer": sgd,
            "n_classes": 3,
        },
        "baseline_regressor": {"optimizer": sgd},
    }[kind]
    return read(
        Model,
        {"kind": kind, "model_dir": str(model_dir), "loss_reduction": loss_reduction, **fields},
    )


def input_fn(tf: Any, batch: int) -> Callable[[], Any]:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(ROWS, 3)).astype("float32")
    label = generator.integers(0, 3, size=ROWS).astype("int64")
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": x}, label)).batch(batch)


def configuration(tf: Any, replicas: int) -> Any:
    devices = [f"/cpu:{index}" for index in range(replicas)]
    strategy = None if replicas == 1 else tf.distribute.MirroredStrategy(devices)
    session = tf.compat.v1.ConfigProto(device_count={"CPU": 3})
    return tf.estimator.RunConfig(
        train_distribute=strategy, session_config=session, tf_random_seed=5
    )


def reported(tf: Any, estimator: Any, replicas: int) -> list[float]:
    """The loss that the Estimator reports to hooks and logs, per step."""
    losses: list[float] = []

    class Listener(tf.estimator.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            return tf.estimator.SessionRunArgs(tf.compat.v1.get_collection("losses")[-1])

        def after_run(self, run_context: Any, run_values: Any) -> None:
            losses.append(float(run_values.results))

    estimator.train(input_fn(tf, BATCH // replicas), steps=STEPS, hooks=[Listener()])
    return losses


KINDS = ["linear_regressor", "dnn_classifier", "baseline_regressor"]


@sampled("kind", KINDS, check=["dnn_classifier"])
def test_two_replicas_report_the_mean_loss_of_one_device(
    tensorflow: Any, tmp_path: Path, kind: str
) -> None:
    one = model(kind, tmp_path / "one", "sum_over_batch_size").build(configuration(tensorflow, 1))
    two = model(kind, tmp_path / "two", "sum_over_batch_size").build(configuration(tensorflow, 2))
    expected = reported(tensorflow, one, 1)
    assert len(expected) == STEPS
    assert reported(tensorflow, two, 2) == pytest.approx(expected, rel=1e-6)


def test_without_the_repair_two_replicas_report_twice_the_loss(
    tensorflow: Any, tmp_path: Path
) -> None:
    column = tensorflow.feature_column.numeric_column("x", shape=3)
    sgd = lambda: tensorflow.keras.optimizers.legacy.SGD(0.01)  # noqa: E731 - one optimizer per graph
    bare = tensorflow.estimator.LinearRegressor(
        [column],
        model_dir=str(tmp_path / "bare"),
        optimizer=sgd,
        config=configuration(tensorflow, 2),
    )
    repaired = model("linear_regressor", tmp_path / "repaired", "sum_over_batch_size").build(
        configuration(tensorflow, 2)
    )
    once = np.array(reported(tensorflow, repaired, 2))
    assert reported(tensorflow, bare, 2) == pytest.approx(2 * once, rel=1e-6)


def test_a_loss_that_is_a_sum_is_added_up_over_replicas(tensorflow: Any, tmp_path: Path) -> None:
    one = model("linear_regressor", tmp_path / "one", "sum").build(configuration(tensorflow, 1))
    two = model("linear_regressor", tmp_path / "two", "sum").build(configuration(tensorflow, 2))
    expected = reported(tensorflow, one, 1)
    assert reported(tensorflow, two, 2) == pytest.approx(expected, rel=1e-6)


def regressor(tf: Any, model_dir: Path) -> Any:
    return model("linear_regressor", model_dir, "sum_over_batch_size").build(configuration(tf, 1))


def test_an_adopted_estimator_stays_what_it_is(tensorflow: Any, tmp_path: Path) -> None:
    plain = tensorflow.estimator.LinearRegressor([], str(tmp_path / "plain"))
    adopted = regressor(tensorflow, tmp_path / "adopted")
    assert isinstance(adopted, tensorflow.estimator.LinearRegressor)
    assert isinstance(adopted, engine.estimator.DistributedEstimator)
    names = [(type(each).__module__, type(each).__name__) for each in (plain, adopted)]
    assert names[0] == names[1]
    adopted_class = type(adopted)
    assert type(engine.estimator.adopt(adopted, adopted.options)) is adopted_class


def test_another_session_trains_inside_its_block_only(tensorflow: Any, tmp_path: Path) -> None:
    estimator = regressor(tensorflow, tmp_path)
    sessions: list[str] = []

    def session(train: Any, spec: Any, *others: Any) -> Any:
        sessions.append(spec.mode)
        return train(spec, *others)

    with estimator.train_with(session):
        estimator.train(input_fn(tensorflow, BATCH), steps=1)
    estimator.train(input_fn(tensorflow, BATCH), steps=1)
    assert sessions == ["train"]
    assert estimator.get_variable_value("global_step") == 2


def test_an_exporter_writes_a_signature_for_requests_of_tensors(
    tensorflow: Any, tmp_path: Path
) -> None:
    tf = tensorflow
    described = model("dnn_classifier", tmp_path / "model", "sum_over_batch_size")
    estimator = described.build(configuration(tf, 1))
    estimator.train(input_fn(tf, BATCH), steps=1)

    def receive() -> Any:
        features = {"x": tf.compat.v1.placeholder(tf.float32, [None, 3])}
        return tf.estimator.export.ServingInputReceiver(features, features)

    path = tf.estimator.FinalExporter("final", receive).export(
        estimator, str(tmp_path / "export"), None, {}, is_the_final_export=True
    )
    answer = tf.saved_model.load(path).signatures["serving_default"](x=tf.zeros([2, 3]))
    assert answer["probabilities"].shape == (2, 3)
