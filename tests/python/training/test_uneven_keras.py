"""Keras losses over some values, in steps that do not divide over the replicas, and metrics of several devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import checkpoints, inputs, models, strategies
from support.sampling import sampled

from tfdistribute.inputs import Input
from tfdistribute.inputs.functions.transformed import Transformed
from tfdistribute.sharding import split
from tfdistribute.training import concatenate, evaluate, predict
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

random = np.random.default_rng(8)
ROWS, TIMES, BATCH = 60, 4, 12
X = random.normal(size=(ROWS, TIMES, 1)).astype("float32")
# Values that a mask leaves out: another number in each row, and all values of some rows.
X[random.uniform(size=(ROWS, TIMES)) < 0.5] = 0
X[3::5] = 0
Y = (2 * X + random.normal(scale=3, size=X.shape)).astype("float32")
WEIGHT = random.uniform(0.0, 3.0, size=ROWS).astype("float32")
WEIGHT[::4] = 0
# The last steps have fewer rows.
STEPS = (12, 11, 10, 9, 5, 4, 3)


def library_of(name: str) -> Any:
    return tf.keras if name == "Keras 2" else pytest.importorskip("keras", minversion="3")


def masked(library: str) -> Any:
    keras = library_of(library)
    (tf.keras if library == "Keras 2" else keras).utils.set_random_seed(1)
    layers = [keras.layers.Masking(0.0), keras.layers.Dense(3, "tanh"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((TIMES, 1), name="x"), *layers])
    sgd = keras.optimizers.legacy.SGD(0.05) if library == "Keras 2" else keras.optimizers.SGD(0.05)
    model.compile(sgd, "mse")
    return model


def weighted_mean(_library: str) -> Any:
    keras = library_of("Keras 3")
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Flatten(), keras.layers.Dense(3, "tanh"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((TIMES, 1), name="x"), *layers])
    loss = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    model.compile(keras.optimizers.SGD(0.05), loss)
    return model


def batches_of(sizes: Sequence[int], has_weights: bool) -> Input:
    ends = np.cumsum(sizes)

    def dataset() -> Any:
        bounds = tf.data.Dataset.from_tensor_slices((ends - sizes, ends))

        def rows(begin: Any, end: Any) -> Any:
            features = {"x": tf.constant(X)[begin:end]}
            if not has_weights:
                return features, tf.constant(Y)[begin:end]
            features["weight"] = tf.constant(WEIGHT)[begin:end]
            return features, tf.constant(Y[:, 0, 0])[begin:end]

        return bounds.map(rows)

    source = inputs.from_function(dataset)
    return Transformed(source, weights="weight") if has_weights else source


MODELS: dict[str, Callable[[str], Any]] = {
    "Keras 2": masked,
    "Keras 3": masked,
    "Keras 3, weights": weighted_mean,
}
STRATEGIES = ("mirrored", "mirrored over 3", "central storage")


@sampled(
    ("name", "strategy"),
    [(name, strategy) for name in MODELS for strategy in STRATEGIES],
    check=[(name, "mirrored over 3") for name in MODELS],
    versions=[("Keras 2", "mirrored over 3")],
)
def test_every_value_that_counts_counts_alike(tmp_path: Path, name: str, strategy: str):
    def trained(folder: str, parts: Sequence[int], where: str) -> tuple[Any, Any]:
        model = models.model("keras", tmp_path / folder, function=lambda: MODELS[name](name))
        settings = strategies.settings(where, seed=4, steps_per_run=1)
        history = train(model, settings, batches_of(parts, "weights" in name))
        return checkpoints.variables(tmp_path / folder), history

    replicas = 3 if "3" in strategy else 2
    parts = [size for step in STEPS for size in split(step, replicas)]
    (many, found), (one, expected) = (
        trained("many", parts, strategy),
        trained("one", STEPS, "none"),
    )
    checkpoints.assert_alike(many, one, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=2e-6)


@sampled("strategy", STRATEGIES, check=["mirrored"], versions=["mirrored"])
def test_f1_and_r2_of_several_devices_are_those_of_one(tmp_path: Path, strategy: str):
    keras = tf.keras

    def built() -> Any:
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.Dense(1, "sigmoid", input_shape=(TIMES,), name="p")])
        metrics = [keras.metrics.F1Score(threshold=0.5), keras.metrics.R2Score()]
        model.compile(keras.optimizers.legacy.SGD(0.5), "mse", metrics=metrics)
        return model

    rows = {"x": X[:, :, 0], "y": (X[:, :, 0].sum(axis=1) > 0).astype("float32")}
    source = inputs.in_memory(rows, batch_size=BATCH)
    model = models.model("keras", tmp_path, function=built)
    train(model, strategies.settings(seed=4), source)
    one, many = (
        evaluate(
            model,
            strategies.settings(eval_distribute=strategies.STRATEGIES[where]),
            inputs.in_memory(rows, batch_size=BATCH, epochs=1),
        )
        for where in ("none", strategy)
    )
    output = concatenate(predict(model, strategies.settings(), source))["p"].ravel()
    truth, found = rows["y"], output > 0.5
    f1 = 2 * np.sum(found * truth) / (np.sum(found) + np.sum(truth))
    r2 = 1 - np.sum((truth - output) ** 2) / np.sum((truth - truth.mean()) ** 2)
    for measured in (one, many):
        assert measured["f1_score"] == pytest.approx(f1, rel=1e-6)
        assert measured["r2_score"] == pytest.approx(r2, rel=1e-5, abs=1e-6)
