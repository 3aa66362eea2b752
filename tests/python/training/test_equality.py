"""Every strategy, compared with plain TensorFlow for the same model, seed and global batch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import checkpoints, strategies
from support import models as support_models
from support.checkpoints import assert_alike
from support.inputs import Factor, in_memory
from support.sampling import sampled

from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

STEPS, BATCH, ROWS, SEED = 30, 16, 96, 5

random = np.random.default_rng(11)
COLOURS = ["red", "green", "blue"]
FEATURES = {
    "width": random.normal(size=ROWS).astype("float32"),
    "height": random.normal(size=ROWS).astype("float32"),
    "colour": random.integers(0, 3, size=ROWS),
    # The number of distinct shops varies between steps, and so do the rows of sparse gradients.
    "shop": random.integers(0, 10, size=ROWS).astype("int32"),
}
NUMBER = (FEATURES["width"] - 2 * FEATURES["height"] + FEATURES["colour"]).astype("float32")
CLASS = (np.digitize(NUMBER, [-0.5, 1.5])).astype("int32")

NUMBERS = [{"kind": "numeric", "key": "width"}, {"kind": "numeric", "key": "height"}]
COLOUR = {"kind": "categorical_with_vocabulary_list", "key": "colour", "vocabulary_list": COLOURS}
DEEP = [*NUMBERS, {"kind": "indicator", "categorical_column": COLOUR}]
SHOP = {"kind": "categorical_with_identity", "key": "shop", "num_buckets": 10}
SGD = support_models.sgd(0.05)
ADAM = support_models.optimizer("Adam", learning_rate=0.01)

MODELS: dict[str, dict[str, Any]] = {
    "linear": {"kind": "linear_regressor", "feature_columns": [*NUMBERS, COLOUR], "optimizer": SGD},
    "sparse": {"kind": "linear_regressor", "feature_columns": [SHOP, COLOUR], "optimizer": SGD},
    "deep": {
        "kind": "dnn_classifier",
        "hidden_units": [8, 4],
        "feature_columns": DEEP,
        "n_classes": 3,
        "optimizer": SGD,
    },
    "wide and deep": {
        "kind": "dnn_linear_combined_regressor",
        "linear_feature_columns": [COLOUR],
        "dnn_feature_columns": DEEP,
        "dnn_hidden_units": [8, 4],
        "linear_optimizer": SGD,
        "dnn_optimizer": ADAM,
    },
    "baseline": {"kind": "baseline_regressor", "optimizer": SGD},
}


def source(model: str, epochs: int | None = None) -> Input:
    columns = {**FEATURES, "colour": Factor(FEATURES["colour"], COLOURS)}
    columns["y"] = CLASS if model == "deep" else NUMBER
    return in_memory(columns, batch_size=BATCH, epochs=epochs, shuffle=False)


def described(model: str, directory: Path) -> Model:
    return support_models.model(model_dir=directory, **MODELS[model])


def settings(strategy: str, steps_per_run: int | str = 1) -> RunSettings:
    return strategies.settings(strategy, seed=SEED, steps_per_run=steps_per_run)


def trained_variables(directory: Path) -> dict[str, Any]:
    """Return the variables without the optimizers' settings, which this package keeps out of checkpoints."""
    found = checkpoints.variables(directory)
    settings_of_optimizers = re.compile(r"training/\w+/\w+")
    return {name: found[name] for name in found if not settings_of_optimizers.fullmatch(name)}


def pure_tensorflow(tf: Any, model: str, directory: Path) -> tuple[dict[str, Any], float]:
    """The same training with tf.estimator alone."""
    column = tf.feature_column
    numbers = [column.numeric_column("width"), column.numeric_column("height")]
    colour = column.categorical_column_with_vocabulary_list("colour", COLOURS)
    deep = [*numbers, column.indicator_column(colour)]
    optimizers = tf.keras.optimizers.legacy
    config = tf.estimator.RunConfig(model_dir=str(directory), tf_random_seed=SEED)
    if model == "linear":
        estimator = tf.estimator.LinearRegressor(
            [*numbers, colour], optimizer=lambda: optimizers.SGD(0.05), config=config
        )
    elif model == "sparse":
        estimator = tf.estimator.LinearRegressor(
            [column.categorical_column_with_identity("shop", 10), colour],
            optimizer=lambda: optimizers.SGD(0.05),
            config=config,
        )
    elif model == "deep":
        estimator = tf.estimator.DNNClassifier(
            [8, 4], deep, n_classes=3, optimizer=lambda: optimizers.SGD(0.05), config=config
        )
    elif model == "wide and deep":
        estimator = tf.estimator.DNNLinearCombinedRegressor(
            linear_feature_columns=[colour],
            linear_optimizer=lambda: optimizers.SGD(0.05),
            dnn_feature_columns=deep,
            dnn_optimizer=lambda: optimizers.Adam(0.01),
            dnn_hidden_units=[8, 4],
            config=config,
        )
    else:
        estimator = tf.estimator.BaselineRegressor(
            optimizer=lambda: optimizers.SGD(0.05), config=config
        )

    features = {
        "width": FEATURES["width"],
        "height": FEATURES["height"],
        "colour": np.array(COLOURS)[FEATURES["colour"]],
        "shop": FEATURES["shop"],
    }
    if model == "baseline":
        # TensorFlow's baseline reads no feature, and accepts at most one.
        features = {"width": FEATURES["width"]}
    labels = CLASS if model == "deep" else NUMBER

    def rows(repeat: int | None) -> Any:
        return tf.data.Dataset.from_tensor_slices((features, labels)).repeat(repeat).batch(BATCH)

    estimator.train(lambda: rows(None), steps=STEPS)
    return trained_variables(directory), estimator.evaluate(lambda: rows(1))["loss"]


@pytest.fixture(scope="module")
def reference(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Variables and evaluation loss of plain TensorFlow, by model."""
    known: dict[str, tuple[dict[str, Any], float]] = {}

    def of(model: str) -> tuple[dict[str, Any], float]:
        if model not in known:
            known[model] = pure_tensorflow(tensorflow, model, tmp_path_factory.mktemp("pure"))
        return known[model]

    return of


PAIRS = [(model, strategy) for model in MODELS for strategy in strategies.KINDS]
ONE_STEP = [
    ("linear", "none"),
    ("sparse", "mirrored"),
    ("deep", "mirrored"),
    ("wide and deep", "central storage"),
    ("baseline", "one device"),
]
MANY_STEPS = [("sparse", "central storage"), ("deep", "none"), ("wide and deep", "mirrored")]


@pytest.mark.promise("The same numbers")
@sampled(("model", "strategy"), PAIRS, check=ONE_STEP)
def test_every_strategy_gives_the_numbers_of_tensorflow_on_one_device(
    tensorflow: Any, reference: Any, runs: list[int], tmp_path: Path, model: str, strategy: str
):
    description = described(model, tmp_path)
    train(description, settings(strategy, 1), source(model), steps=STEPS)
    assert runs == []
    loss = evaluate(description, settings(strategy), source(model, epochs=1))["loss"]
    expected, expected_loss = reference(model)
    assert_alike(trained_variables(tmp_path), expected, rtol=1e-6, atol=1e-6)
    assert loss == pytest.approx(expected_loss, rel=1e-6)


@sampled(("model", "strategy"), PAIRS, check=MANY_STEPS, versions=MANY_STEPS[::2])
def test_every_strategy_gives_the_same_numbers_with_many_steps_per_run(
    tensorflow: Any, reference: Any, runs: list[int], tmp_path: Path, model: str, strategy: str
):
    description = described(model, tmp_path)
    train(description, settings(strategy, "auto"), source(model), steps=STEPS)
    assert max(runs) > 1
    assert_alike(trained_variables(tmp_path), reference(model)[0], rtol=1e-6, atol=1e-6)


@sampled("strategy", ["mirrored", "central storage"], check=["mirrored"])
def test_the_reported_loss_is_the_mean_over_replicas(
    tensorflow: Any, tmp_path: Path, strategy: str
):
    del tensorflow
    alone = train(described("deep", tmp_path / "a"), settings("none"), source("deep"), steps=STEPS)
    shared = train(
        described("deep", tmp_path / "b"), settings(strategy), source("deep"), steps=STEPS
    )
    assert shared.steps == alone.steps
    np.testing.assert_allclose(shared.losses, alone.losses, rtol=1e-5)


ORDERS = [("mirrored", "none", "central storage"), ("none", "mirrored", "one device")]


@pytest.mark.oldest
@sampled("order", ORDERS, check=ORDERS[:1])
def test_training_continues_under_another_strategy(
    tensorflow: Any, reference: Any, runs: list[int], tmp_path: Path, order: tuple[str, ...]
):
    undisturbed, _ = reference("wide and deep")
    description = described("wide and deep", tmp_path)
    # Twelve steps are two epochs, so each part starts with the same rows. The last takes one step per run.
    for strategy, steps, steps_per_run in zip(order, (12, 12, 6), ("auto", "auto", 1), strict=True):
        runs.clear()
        train(description, settings(strategy, steps_per_run), source("wide and deep"), steps=steps)
        assert (max(runs, default=0) > 1) == (steps_per_run == "auto")
    assert_alike(trained_variables(tmp_path), undisturbed, rtol=1e-6, atol=1e-6)
