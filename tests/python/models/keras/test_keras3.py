"""Keras 3 models as Estimators, compared with fit() and evaluate() of Keras 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import keras3_models as k3
from support.checkpoints import assert_alike, variables
from support.inputs import from_function, in_memory
from support.keras_models import PRICE, ROWS, settings, source
from support.sampling import sampled

from tfdistribute.engine.keras import keras3_calls
from tfdistribute.errors import InputError, ModelError, UnsupportedError
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_keras_model, export_savedmodel
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_value

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS = 12


def assert_same_weights(estimator: Any, expected: Sequence[Any]) -> None:
    # A model that is read from a file has other paths.
    names = [name for name, _ in estimator.model_facts().weights]
    for name, weight in zip(names, expected, strict=True):
        found = variable_value(str(estimator.model_dir), name)
        np.testing.assert_allclose(found, weight, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("optimizer", k3.OPTIMIZERS)
def test_optimizers_of_keras_3_train_as_in_fit(tmp_path: Path, optimizer: str) -> None:
    model = k3.built(optimizer=optimizer)
    estimator = k3.described(tmp_path / "m", model)
    train(estimator, settings(), k3.source(), steps=STEPS)
    assert_same_weights(estimator, k3.fitted(model, k3.BOTH, STEPS).get_weights())


def test_the_micro_batches_of_a_step_draw_different_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offset = keras3_calls._seed_offset
    with k3.tf.Graph().as_default():
        state = k3.tf.constant([5, 6], k3.tf.uint32)
        assert offset(state) is None
        step = SimpleNamespace(index=k3.tf.constant(2))
        monkeypatch.setattr(keras3_calls.accumulate, "current", lambda: step)
        with k3.tf.compat.v1.Session() as session:
            added = session.run(offset(state))
        assert offset(k3.tf.constant([1.0, 2.0])) is None
    assert added[0] > 0
    assert added[1] == 0


@sampled(
    "name",
    ["batch normalisation", "convolution", "embedding", "lstm", "mixed precision"],
    check=["batch normalisation", "lstm", "mixed precision"],
)
def test_layers_train_and_evaluate_as_in_keras(tmp_path: Path, name: str, runs: list[int]) -> None:
    model = k3.built(name, "adam")
    estimator = k3.described(tmp_path / "m", model)
    train(estimator, settings(steps_per_run="auto"), k3.source(name), steps=STEPS)
    assert max(runs) > 1
    data = k3.MODELS[name][1]
    k3.fitted(model, data, STEPS)
    assert_same_weights(estimator, model.get_weights())
    found = evaluate(estimator, settings(), k3.source(name, epochs=1))
    expected = model.evaluate(data, PRICE, verbose=0, return_dict=True)
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-5)
    predicted = concatenate(predict(estimator, settings(), k3.source(name, epochs=1)))
    np.testing.assert_allclose(
        predicted["price"], model.predict(data, verbose=0), rtol=1e-5, atol=1e-6
    )


@sampled(
    ("name", "optimizer"),
    [("dense", "adamw"), ("dropout", "schedule"), ("batch normalisation", "averages")],
    check=[("batch normalisation", "averages")],
)
def test_compiled_steps_train_as_others(tmp_path: Path, name: str, optimizer: str) -> None:
    model = k3.built(name, optimizer)

    def trained(compiled: bool) -> dict[str, Any]:
        directory = tmp_path / str(compiled)
        chosen = settings(steps_per_run=6, compile=compiled)
        history = train(k3.described(directory, model), chosen, k3.source(name), steps=STEPS)
        assert history.compiled is compiled
        return variables(directory)

    assert_alike(trained(True), trained(False), 1e-6, 1e-6)


@pytest.mark.versions
@sampled(
    ("name", "optimizer", "strategy"),
    [
        ("dense", "adamw", "mirrored"),
        ("dense", "averages", "mirrored"),
        ("lstm", "sgd", "mirrored"),
        ("dense", "adam", "central storage"),
        ("synchronised", "adamw", "mirrored"),
    ],
    check=[("dense", "adam", "central storage"), ("synchronised", "adamw", "mirrored")],
)
def test_two_devices_give_the_weights_of_one(
    tmp_path: Path, name: str, optimizer: str, strategy: str
) -> None:
    model = k3.built(name, optimizer)
    estimator = k3.described(tmp_path / "m", model)
    train(estimator, settings(strategy), k3.source(name), steps=STEPS)
    assert_same_weights(estimator, k3.fitted(model, k3.MODELS[name][1], STEPS).get_weights())


def test_batch_normalisation_on_two_devices_is_that_of_keras(
    tmp_path: Path, logical_cpus: list[str]
) -> None:
    model = k3.built("batch normalisation")
    estimator = k3.described(tmp_path / "m", model)
    train(estimator, settings("mirrored"), k3.source(), steps=STEPS)
    strategy = k3.tf.distribute.MirroredStrategy(logical_cpus[:2])
    with strategy.scope():
        model = k3.built("batch normalisation")
        model.load_weights(tmp_path / "m.keras")
    k3.fitted(model, k3.BOTH, STEPS)
    # Keras keeps moving averages on each device, and reads those of the first.
    copies = [strategy.experimental_local_results(weight.value) for weight in model.weights]
    assert_same_weights(estimator, [np.mean(each, axis=0) for each in copies])


def test_replicas_drop_different_units(tmp_path: Path) -> None:
    def model() -> Any:
        # The only unit is dropped or doubled, so the loss of a row is 0 or 4.
        weights = k3.layers.Dense(1, kernel_initializer="ones", use_bias=False, name="price")
        network = k3.keras.Sequential(
            [k3.keras.Input((1,), name="x"), k3.layers.Dropout(0.5), weights]
        )
        network.compile(k3.keras.optimizers.SGD(0.0), "mse")
        return network

    columns = {"x": np.ones(ROWS, "float32"), "y": np.zeros(ROWS, "float32")}
    # One row for each replica. With the same numbers in both, the mean would never be 2.
    rows = in_memory(columns, batch_size=2, epochs=None)
    estimator = k3.from_function(tmp_path, model)
    every_step = settings("mirrored", log_step_count_steps=1)
    history = train(estimator, every_step, rows, steps=40)
    assert set(history.losses) == {0.0, 2.0, 4.0}


@pytest.mark.smoke
def test_several_inputs_and_outputs_have_their_own_losses(tmp_path: Path) -> None:
    model = k3.two_headed()
    estimator = k3.described(tmp_path / "m", model)
    train(estimator, settings(), from_function(k3.two_responses), steps=STEPS)
    model.fit(k3.two_responses(), steps_per_epoch=STEPS, shuffle=False, verbose=0)
    assert_same_weights(estimator, model.get_weights())
    rows = lambda: k3.two_responses().take(ROWS // k3.BATCH)  # noqa: E731
    found = evaluate(estimator, settings(), from_function(rows))
    expected = model.evaluate(rows(), verbose=0, return_dict=True)
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-5)


def test_an_output_without_a_response_is_neither_trained_nor_measured(tmp_path: Path) -> None:
    def batches() -> Any:
        priced = k3.two_responses().map(lambda features, labels: (features, labels["price"]))
        return priced.take(ROWS // k3.BATCH)

    rows = from_function(batches)
    model = k3.two_headed(loss={"price": "mse"}, metrics={"price": ["mae"]})
    estimator = k3.described(tmp_path / "m", model)
    train(estimator, settings(), rows)
    predicted = concatenate(predict(estimator, settings(), rows))["price"]
    expected = np.mean(np.abs(predicted.ravel() - PRICE))
    assert evaluate(estimator, settings(), rows)["price_mae"] == pytest.approx(expected, rel=1e-5)
    model = k3.two_headed(loss={"price": "mse"}, metrics={"other": ["mae"]})
    estimator = k3.described(tmp_path / "n", model)
    train(estimator, settings(), rows)
    with pytest.raises(
        InputError, match='no response for the output "other" .*, which has a metric'
    ):
        evaluate(estimator, settings(), rows)


# A program without this package: it serves the SavedModel, loads the Keras file, and reads its weights into the model.
_ELSEWHERE = """
import os, sys
import numpy as np, tensorflow as tf
os.chdir(sys.argv[0].rpartition("/")[0])
rows = np.load("rows.npy")
(served,) = tf.saved_model.load("served").signatures["serving_default"](tf.constant(rows)).values()
loaded = tf.keras.models.load_model("trained.keras")
model = tf.keras.models.load_model("m.keras")
model.load_weights("trained.keras")
assert "tfdistribute" not in sys.modules
np.save("answers.npy", [served, loaded.predict(rows, verbose=0), model.predict(rows, verbose=0)])
"""


def test_a_trained_model_goes_out_as_a_keras_file_and_as_a_savedmodel(
    tmp_path: Path, run_python: Callable[..., Any]
) -> None:
    model = k3.built("batch normalisation")
    estimator = k3.described(tmp_path / "m", model)
    train(estimator, settings(), k3.source(), steps=STEPS)
    path = export_keras_model(estimator, str(tmp_path / "trained.keras"))
    export_savedmodel(estimator, settings(), str(tmp_path / "served"))
    k3.fitted(model, k3.BOTH, STEPS)
    loaded = k3.keras.models.load_model(path)
    expected = [*model.weights, *model.optimizer.variables]
    for found, variable in zip(
        [*loaded.weights, *loaded.optimizer.variables], expected, strict=True
    ):
        np.testing.assert_allclose(found, variable, rtol=1e-5, atol=1e-6, err_msg=variable.path)
    np.save(tmp_path / "rows.npy", k3.BOTH)
    run_python(_ELSEWHERE, env={"PYTHONPATH": ""})
    for found in np.load(tmp_path / "answers.npy"):
        np.testing.assert_allclose(found, model.predict(k3.BOTH, verbose=0), rtol=1e-5, atol=1e-6)


def test_a_function_gives_the_same_model_each_time_and_leaves_keras_3_as_it_was(
    tmp_path: Path,
) -> None:
    before = k3.layers.Dense(1).name
    for name in "ab":
        model = k3.from_function(tmp_path / name, k3.built)
        train(model, settings(), k3.source(), steps=1)
    first, second = (
        variable_value(str(tmp_path / name), "sequential/price/kernel") for name in "ab"
    )
    np.testing.assert_array_equal(first, second)
    assert k3.layers.Dense(1).name not in (before, "dense")
    assert k3.keras.backend.backend() == "tensorflow"
    assert k3.fitted(k3.built(), k3.BOTH, 1).weights


def test_what_estimators_cannot_train_is_refused_by_name(tmp_path: Path) -> None:
    scaled = k3.keras.Sequential([k3.keras.Input((2,)), k3.layers.Normalization()])
    scaled.compile("sgd", "mse")
    with pytest.raises(ModelError, match="has a layer Normalization, which Estimators cannot run"):
        train(k3.from_function(tmp_path / "a", lambda: scaled), settings(), source(), steps=1)
    plain = k3.keras.Sequential([k3.keras.Input((2,)), k3.layers.Dense(1)])
    with pytest.raises(ModelError, match="is not compiled"):
        train(k3.from_function(tmp_path / "b", lambda: plain), settings(), source(), steps=1)
    scaled = k3.built()
    scaled.optimizer = k3.keras.optimizers.LossScaleOptimizer(scaled.optimizer)
    with pytest.raises(ModelError, match="scales its loss for float16"):
        train(k3.from_function(tmp_path / "d", lambda: scaled), settings(), source(), steps=1)
    model = k3.from_function(tmp_path / "c", k3.built)
    task = SimpleNamespace(num_ps_replicas=1, tf_random_seed=1)
    with pytest.raises(UnsupportedError, match="cannot be trained with parameter servers"):
        model.build(task)
    train(model, settings(), k3.source(), steps=1)
    with pytest.raises(UnsupportedError, match="cannot be evaluated on several devices"):
        evaluate(model, settings(evaluation="mirrored"), k3.source(epochs=1))


def test_numbers_are_the_same_with_hooks_that_see_every_batch(tmp_path: Path) -> None:
    class Watch(k3.tf.estimator.SessionRunHook):
        seen = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            Watch.seen += 1

    estimator = k3.described(tmp_path / "m", k3.built("batch normalisation"))
    train(estimator, settings(), k3.source("batch normalisation"), steps=4)
    # A number of steps, and a function, keep the batches as they are.
    data = k3.source("batch normalisation", epochs=1, batch_size=3)
    found, expected = (
        evaluate(estimator, settings(), data, steps=100, hooks=hooks) for hooks in ([], [Watch()])
    )
    assert found == pytest.approx(expected, rel=1e-6)
    batches = from_function(lambda: k3.tf.data.Dataset.from_tensor_slices({"x": k3.BOTH}).batch(3))
    found, expected = (
        concatenate(predict(estimator, settings(), batches, hooks=hooks))
        for hooks in ([], [Watch()])
    )
    np.testing.assert_array_equal(found["price"], expected["price"])
    assert Watch.seen > 2


_FIRST = """
import sys
from tfdistribute import engine

def build():
    import keras
    return keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])

assert "keras.src" not in sys.modules
first, second = (engine.keras.build(build, 1).get_weights()[0] for _ in range(2))
assert first == second, (first, second)
"""


def test_the_first_model_of_a_process_has_the_weights_of_its_seed(
    run_python: Callable[..., Any],
) -> None:
    run_python(_FIRST)
