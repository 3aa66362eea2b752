"""Optimizer descriptions, and the optimizers made from them for each training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

from tfdistribute.callbacks import Callback
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, ModelError
from tfdistribute.models import Model, Optimizer
from tfdistribute.models.optimizers import OPTIMIZERS, OptimizerFunction


def named(name: str, **settings: Any) -> Optimizer:
    return read(Optimizer, {"kind": "named", "name": name, "settings": settings})


def train_weights(
    tf: Any, model_dir: Path, optimizer: Any, trainings: int = 1, replicas: int = 1
) -> tuple[Any, Any]:
    """Return the weights after trainings of six steps each, and the Estimator."""
    column = {"kind": "numeric", "key": "x", "shape": 2}
    described = read(
        Model,
        {
            "kind": "linear_regressor",
            "model_dir": str(model_dir),
            "feature_columns": [column],
            "optimizer": optimizer,
        },
    )
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]) if replicas == 2 else None
    session = tf.compat.v1.ConfigProto(device_count={"CPU": 3})
    estimator = described.build(
        tf.estimator.RunConfig(tf_random_seed=1, session_config=session, train_distribute=strategy)
    )
    generator = np.random.default_rng(4)
    x = generator.normal(size=(48, 2)).astype("float32")
    y = (x @ np.array([1.0, -2.0]) + 0.5).astype("float32")
    for _ in range(trainings):
        estimator.train(
            lambda: tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(8 // replicas)
        )
    return estimator.get_variable_value("linear/linear_model/x/weights"), estimator


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("learning_rate", -1, "a number of at least 0, or a list such as"),
        ("momentum", "0.9", "a number of at least 0, not"),
        ("nesterov", 1, "TRUE or FALSE, not 1"),
    ],
)
def test_settings_have_the_limits_that_r_checks(setting: str, value: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=f"`{setting}` must be {expected}"):
        named("sgd", **{setting: value})


@sampled("name", OPTIMIZERS, check=["adam", "ftrl"])
def test_an_optimizer_by_name_learns_what_keras_learns(
    tensorflow: Any, tmp_path: Path, name: str
) -> None:
    keras_class = getattr(tensorflow.keras.optimizers.legacy, OPTIMIZERS[name][0])
    ours, _ = train_weights(
        tensorflow,
        tmp_path / "named",
        {"kind": "named", "name": name.upper(), "settings": {"learning_rate": 0.1}},
    )
    config = tensorflow.estimator.RunConfig(tf_random_seed=1)
    theirs = tensorflow.estimator.LinearRegressor(
        [tensorflow.feature_column.numeric_column("x", shape=2)],
        model_dir=str(tmp_path / "keras"),
        optimizer=lambda: keras_class(learning_rate=0.1),
        config=config,
    )
    generator = np.random.default_rng(4)
    x = generator.normal(size=(48, 2)).astype("float32")
    y = (x @ np.array([1.0, -2.0]) + 0.5).astype("float32")
    theirs.train(lambda: tensorflow.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(8))
    np.testing.assert_array_equal(ours, theirs.get_variable_value("linear/linear_model/x/weights"))


def test_every_setting_in_the_table_is_one_of_keras(tensorflow: Any) -> None:
    values = {"amsgrad": True, "centered": True, "nesterov": True, "learning_rate_power": -0.5}
    for name, (_, settings) in OPTIMIZERS.items():
        for setting in settings:
            assert named(name, **{setting: values.get(setting, 0.5)}).factory(0.1)() is not None


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_penalty_shrinks_the_weights_as_its_gradient_says_on_any_number_of_replicas(
    tensorflow: Any, tmp_path: Path, replicas: int
) -> None:
    optimizer = named("sgd", learning_rate=0.1, l2_penalty=0.2)
    weights, estimator = train_weights(tensorflow, tmp_path, optimizer, replicas=replicas)
    generator = np.random.default_rng(4)
    x = generator.normal(size=(48, 2))
    y = x @ np.array([1.0, -2.0]) + 0.5
    expected, bias = np.zeros(2), 0.0
    for first in range(0, 48, 8):
        rows, error = (
            x[first : first + 8],
            x[first : first + 8] @ expected + bias - y[first : first + 8],
        )
        # The gradient of mean(error^2) + 0.2 sum(weights^2); the bias is not penalised.
        step, bias_step = 2 * rows.T @ error / 8 + 2 * 0.2 * expected, 2 * error.mean()
        expected, bias = expected - 0.1 * step, bias - 0.1 * bias_step
    np.testing.assert_allclose(weights[:, 0], expected, rtol=1e-5)
    found = estimator.get_variable_value("linear/linear_model/bias_weights")
    np.testing.assert_allclose(found, [bias], rtol=1e-5)


def test_each_call_makes_a_new_optimizer(tensorflow: Any) -> None:
    make = named("adam").factory(0.1)
    assert make() is not make()


def test_a_default_learning_rate_gives_way_to_the_users(tensorflow: Any) -> None:
    def rate(optimizer: Optimizer, default: float | None) -> float:
        return float(optimizer.factory(default)()._hyper["learning_rate"]())

    assert rate(named("adagrad"), 0.2) == 0.2
    assert rate(named("adagrad", epsilon=1e-5), 0.2) == 0.2
    assert rate(named("adagrad", learning_rate=0.5), 0.2) == 0.5
    assert rate(named("adagrad"), None) == 0.001


@pytest.mark.versions
@sampled("maker", ["legacy", "new"], check=["new"])
def test_an_instance_trains_twice_on_two_replicas_and_stays_as_it_was(
    tensorflow: Any, tmp_path: Path, maker: str
) -> None:
    keras = tensorflow.keras.optimizers
    instance = (
        keras.legacy.SGD(0.05, momentum=0.9) if maker == "legacy" else keras.SGD(0.05, momentum=0.9)
    )
    before = instance.get_config()
    two, _ = train_weights(
        tensorflow,
        tmp_path / "two",
        {"kind": "object", "object": instance},
        trainings=2,
        replicas=2,
    )
    settings = {"learning_rate": 0.05, "momentum": 0.9}
    one, _ = train_weights(
        tensorflow,
        tmp_path / "one",
        {"kind": "named", "name": "sgd", "settings": settings},
        trainings=2,
    )
    np.testing.assert_allclose(two, one, rtol=1e-5)
    assert instance.get_config() == before


def test_without_the_repair_an_instance_fails_in_the_second_training(
    tensorflow: Any, tmp_path: Path
) -> None:
    instance = tensorflow.keras.optimizers.legacy.SGD(0.05)
    bare = tensorflow.estimator.LinearRegressor(
        [tensorflow.feature_column.numeric_column("x")], model_dir=str(tmp_path), optimizer=instance
    )
    data: Callable[[], Any] = lambda: tensorflow.data.Dataset.from_tensors(({"x": [1.0]}, [1.0]))  # noqa: E731
    bare.train(data)
    with pytest.raises(RuntimeError, match="Cannot set `iterations` to a new Variable"):
        bare.train(data)


def test_a_training_that_goes_on_uses_the_settings_given_now(
    tensorflow: Any, tmp_path: Path
) -> None:
    def sgd(rate: float) -> dict[str, Any]:
        return {"kind": "named", "name": "sgd", "settings": {"learning_rate": rate}}

    before, _ = train_weights(tensorflow, tmp_path, sgd(0.1))
    unchanged, estimator = train_weights(tensorflow, tmp_path, sgd(0.0))
    np.testing.assert_array_equal(unchanged, before)
    # The optimizer's settings are not variables, so no checkpoint restores old ones.
    assert [name for name in estimator.get_variable_names() if name.startswith("training/")] == []


def test_without_the_repair_a_checkpoint_restores_the_old_learning_rate(
    tensorflow: Any, tmp_path: Path
) -> None:
    def weight(rate: float) -> float:
        bare = tensorflow.estimator.LinearRegressor(
            [tensorflow.feature_column.numeric_column("x")],
            model_dir=str(tmp_path),
            optimizer=lambda: tensorflow.keras.optimizers.legacy.SGD(rate),
        )
        bare.train(lambda: tensorflow.data.Dataset.from_tensors(({"x": [1.0]}, [1.0])))
        return float(bare.get_variable_value("linear/linear_model/x/weights")[0, 0])

    assert weight(0.1) != weight(0.0)


def test_a_schedule_lowers_the_learning_rate(tensorflow: Any, tmp_path: Path) -> None:
    schedule = {
        "schedule": "piecewise_constant_decay",
        "boundaries": [2],
        "values": [0.1, 0.0],
    }
    scheduled, _ = train_weights(
        tensorflow,
        tmp_path / "scheduled",
        {"kind": "named", "name": "sgd", "settings": {"learning_rate": schedule}},
    )
    constant = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.1}}
    six_steps, _ = train_weights(tensorflow, tmp_path / "constant", constant)
    assert np.any(scheduled != 0)
    assert np.all(scheduled != six_steps)


def test_a_function_from_r_is_called_for_each_training(tensorflow: Any, tmp_path: Path) -> None:
    calls = []

    def make() -> dict[str, Any]:
        calls.append(1)
        return {"value": tensorflow.keras.optimizers.legacy.SGD(0.1)}

    wire = {"call": make, "formals": []}
    weights, _ = train_weights(
        tensorflow, tmp_path, {"kind": "function", "function": wire}, trainings=2
    )
    assert np.any(weights != 0)
    assert len(calls) == 2
    described = read(Optimizer, {"kind": "function", "function": wire})
    assert isinstance(described, OptimizerFunction)
    assert isinstance(described.function, Callback)


def test_a_function_may_make_a_new_keras_optimizer(tensorflow: Any, tmp_path: Path) -> None:
    new = {"kind": "function", "function": lambda: tensorflow.keras.optimizers.SGD(0.1)}
    found, _ = train_weights(tensorflow, tmp_path / "new", new, trainings=2)
    legacy = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.1}}
    expected, _ = train_weights(tensorflow, tmp_path / "legacy", legacy, trainings=2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda tf: tf.compat.v1.train.AdamOptimizer(0.1), "TensorFlow 1 optimizer"),
        (lambda tf: tf.keras.optimizers.AdamW(0.1), "AdamW has `weight_decay`"),
        (lambda tf: tf.keras.optimizers.Adam(0.1, use_ema=True), "Adam has `use_ema`"),
        (lambda tf: tf.keras.optimizers.Lion(0.1), "Lion is not supported"),
        (lambda tf: 3, "int is not supported"),
    ],
)
def test_what_canned_models_cannot_use_is_refused_with_the_remedy(
    tensorflow: Any, make: Callable[[Any], Any], message: str
) -> None:
    optimizer = read(Optimizer, {"kind": "object", "object": make(tensorflow)})
    with pytest.raises(ModelError, match=message) as caught:
        optimizer.factory(None)()
    assert caught.value.argument == "optimizer"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "adamm"}, '`optimizer` must be one of adadelta, .*, not "adamm"'),
        ({"name": "adam", "settings": {"lr": 0.1}}, '`optimizer` "adam" has no setting `lr`'),
    ],
)
def test_unknown_names_and_settings_are_refused_without_tensorflow(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        read(Optimizer, {"kind": "named", **fields})


def test_unknown_schedules_and_values_that_keras_refuses_are_named(tensorflow: Any) -> None:
    with pytest.raises(ArgumentError, match='"expo" is not a schedule'):
        named("sgd", learning_rate={"schedule": "expo"}).factory(None)
    with pytest.raises(ArgumentError, match='"exponential_decay" rejects its settings'):
        named("sgd", learning_rate={"schedule": "exponential_decay"}).factory(None)
    with pytest.raises(ArgumentError, match="SGD rejects its settings"):
        named("sgd", momentum=2.0).factory(None)
