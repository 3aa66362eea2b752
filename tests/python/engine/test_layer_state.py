"""State of Keras layers in model functions, compared with the same layers in Keras's own training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models
from support.inputs import in_memory
from support.keras_models import settings
from support.sampling import diagonal

from tfdistribute.engine import tf
from tfdistribute.errors import ModelError
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_names, variable_value

pytestmark = pytest.mark.usefixtures("tensorflow")

ROWS, BATCH, STEPS = 128, 32, 24
X = np.random.default_rng(1).normal(50, 10, ROWS).astype("float32")
Y = ((X - 50) / 10).astype("float32")

layers = tf.keras.layers


class Counting(layers.Layer):
    """A layer that counts its calls, and adds the count after the write."""

    def build(self, _shape: Any) -> None:
        self.calls = self.add_weight(
            name="calls",
            shape=(),
            initializer="zeros",
            trainable=False,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )

    def call(self, x: Any, training: bool = False) -> Any:
        if training:
            self.calls.assign_add(1.0)
        return x + self.calls


class CountingLater(Counting):
    """A layer that adds the count before the write, which could be faster."""

    def call(self, x: Any, training: bool = False) -> Any:
        slow = tf.fill([500, 500], tf.reduce_mean(x) / 1e6)
        for _ in range(20):
            slow = tf.tanh(slow @ slow)
        with tf.control_dependencies([slow]):
            calls = self.calls.read_value() + 0.0
        if training:
            self.calls.assign_add(1.0)
        return x + calls


class Halving(layers.Layer):
    """A layer that halves its own weight."""

    def build(self, _shape: Any) -> None:
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones")

    def call(self, x: Any, training: bool = False) -> Any:
        if training:
            self.factor.assign(self.factor * 0.5)
        return x * self.factor / 50


LAYERS: dict[str, Callable[[], Any]] = {
    "batch normalization": lambda: layers.BatchNormalization(momentum=0.5, name="state"),
    "synchronized": lambda: layers.BatchNormalization(
        momentum=0.5, synchronized=True, name="state"
    ),
    "inside a model": lambda: tf.keras.Sequential(
        [layers.BatchNormalization(momentum=0.5, name="state")]
    ),
    "counting": lambda: Counting(name="state"),
    "counting later": lambda: CountingLater(name="state"),
    "halving": lambda: Halving(name="state"),
    "spectral normalization": lambda: layers.SpectralNormalization(
        layers.Dense(3, name="inside", kernel_initializer="ones"), name="state"
    ),
}

if tf.__version__.startswith(("2.15", "2.18")):
    # There, Keras 2 cannot call this layer in a graph, and says so.
    del LAYERS["spectral normalization"]


def model_fn(layer: Callable[[], Any], returns: str = "optimizer") -> Callable[..., Any]:
    def function(features: Any, labels: Any, mode: str) -> dict[str, Any]:
        hidden = layer()(tf.reshape(features["x"], [-1, 1]), training=mode == "train")
        last = layers.Dense(1, kernel_initializer="ones", name="last")
        loss = tf.reduce_mean((labels - last(hidden)[:, 0]) ** 2)
        spec = {"mode": mode, "loss": loss}
        if mode != "train":
            return spec
        if returns == "optimizer":
            chosen = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 1e-5}}
            return {**spec, "optimizer": chosen}
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(1e-5)
        step = tf.compat.v1.train.get_global_step()
        return {**spec, "train_op": optimizer.minimize(loss, step)}

    return function


def rows(epochs: int | None = None) -> Any:
    return in_memory({"x": X, "y": Y}, batch_size=BATCH, epochs=epochs, shuffle=False)


def of_keras(layer: Callable[[], Any]) -> dict[str, Any]:
    tf.random.set_seed(1)
    last = layers.Dense(1, kernel_initializer="ones", name="last")
    model = tf.keras.Sequential([tf.keras.Input((1,)), layer(), last])
    model.compile(tf.keras.optimizers.legacy.SGD(1e-5), "mse")
    batches = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(BATCH)
    model.fit(batches, steps_per_epoch=STEPS, shuffle=False, verbose=0)
    return {weight.name.partition(":")[0]: weight.numpy() for weight in model.weights}


def assert_trained_as_in_keras(directory: Path, layer: Callable[[], Any]) -> None:
    found = {name: variable_value(str(directory), name) for name in variable_names(str(directory))}
    for name, value in of_keras(layer).items():
        if "vector_u" not in name:  # It starts from random numbers.
            (own,) = (each for each in found if each.endswith(name))
            np.testing.assert_allclose(found[own], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.versions
@diagonal(("name", "returns"), LAYERS, ["optimizer", "train_op"])
def test_a_layer_in_a_model_function_keeps_its_state_as_in_fit(
    tmp_path: Path, name: str, returns: str
) -> None:
    model = models.model("custom", tmp_path, model_fn=model_fn(LAYERS[name], returns))
    # Until the input ends, where no layer may write once more.
    steps = settings(steps_per_run="auto")
    train(model, steps, rows(epochs=STEPS * BATCH // ROWS))
    assert_trained_as_in_keras(tmp_path, LAYERS[name])
    assert np.isfinite(evaluate(model, settings(), rows(epochs=1))["loss"])


@pytest.mark.versions
@pytest.mark.parametrize("name", ["synchronized", "counting"])
def test_two_devices_keep_the_state_of_one(tmp_path: Path, name: str) -> None:
    model = models.model("custom", tmp_path, model_fn=model_fn(LAYERS[name]))
    train(model, settings("mirrored"), rows(), steps=STEPS)
    assert_trained_as_in_keras(tmp_path, LAYERS[name])


@pytest.mark.versions
@pytest.mark.parametrize("name", ["synchronized", "counting"])
def test_two_devices_keep_the_state_of_the_layers_of_a_keras_model(
    tmp_path: Path, name: str
) -> None:
    def built() -> Any:
        last = layers.Dense(1, kernel_initializer="ones", name="last")
        model = tf.keras.Sequential([tf.keras.Input((1,), name="x"), LAYERS[name](), last])
        model.compile(tf.keras.optimizers.legacy.SGD(1e-5), "mse")
        return model

    model = models.model("keras", tmp_path, function=built)
    train(model, settings("mirrored"), rows(), steps=STEPS)
    assert_trained_as_in_keras(tmp_path, LAYERS[name])


def test_plain_batch_normalization_on_two_devices_averages_the_replicas(tmp_path: Path) -> None:
    model = models.model("custom", tmp_path, model_fn=model_fn(LAYERS["batch normalization"]))
    train(model, settings("mirrored"), rows(), steps=STEPS)
    assert variable_value(str(tmp_path), "state/moving_mean") == pytest.approx(X.mean(), rel=0.1)
    assert evaluate(model, settings(), rows(epochs=1))["loss"] < 5


def test_updates_of_the_layers_of_tensorflow_1_run_with_an_own_train_op(tmp_path: Path) -> None:
    class Layer:
        def __call__(self, x: Any, training: bool) -> Any:
            return tf.compat.v1.layers.batch_normalization(x, momentum=0.5, training=training)

    model = models.model("custom", tmp_path, model_fn=model_fn(Layer, "train_op"))
    train(model, settings(), rows(), steps=STEPS)
    mean = variable_value(str(tmp_path), "batch_normalization/moving_mean")
    assert mean == pytest.approx(X.mean(), rel=0.1)


def test_layers_of_keras_3_are_refused_by_name(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras", minversion="3")

    class Layer:
        def __call__(self, x: Any, training: bool) -> Any:
            del training
            return keras.layers.Dense(1, name="own")(x)

    model = models.model("custom", tmp_path, model_fn=model_fn(Layer))
    with pytest.raises(ModelError, match="makes the variable 'own/kernel' with Keras 3"):
        train(model, settings(), rows(), steps=1)
