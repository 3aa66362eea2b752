"""Keras models as Estimators, compared with fit() and evaluate(), on any devices."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.inputs import from_function
from support.keras_models import (
    BATCH,
    BOTH,
    HEIGHT,
    PRICE,
    ROWS,
    WIDTH,
    built,
    described,
    fitted,
    from_file,
    keras,
    legacy,
    settings,
    source,
    two_headed,
    two_responses,
    weights,
)
from support.sampling import sampled
from support.strategies import KINDS

from tfdistribute.errors import InputError
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS = 12
several = sampled("strategy", ["mirrored", "central storage"], check=["mirrored"])


@pytest.fixture(scope="module")
def saved(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    built().save(path)
    return path


@pytest.fixture(scope="module")
def fitted_by_keras(saved: Path) -> Any:
    return fitted(keras.models.load_model(saved), STEPS)


@sampled(
    ("strategy", "steps_per_run"),
    [*((each, 1) for each in KINDS), ("mirrored", "auto")],
    check=[("central storage", 1), ("mirrored", "auto")],
    versions=[("mirrored", "auto")],
)
def test_every_strategy_gives_the_numbers_of_keras(
    saved: Path,
    fitted_by_keras: Any,
    runs: list[int],
    tmp_path: Path,
    strategy: str,
    steps_per_run: int | str,
) -> None:
    model = from_file(tmp_path, saved)
    history = train(model, settings(strategy, steps_per_run=steps_per_run), source(), steps=STEPS)
    assert (max(runs, default=0) > 1) == (steps_per_run == "auto")
    metrics = evaluate(model, settings(strategy), source(epochs=1, batch_size=36))
    predictions = concatenate(predict(model, settings(strategy), source(epochs=1)))

    found = weights(tmp_path)
    for weight in fitted_by_keras.weights:
        name = weight.name.partition(":")[0]
        np.testing.assert_allclose(found[name], weight.numpy(), rtol=1e-6, atol=1e-6, err_msg=name)
    # Batches of 36, 36 and 24 rows: every row has the same weight.
    loss, error = fitted_by_keras.evaluate(BOTH, PRICE, verbose=0)
    assert metrics["loss"] == pytest.approx(loss, rel=1e-6)
    assert metrics["mae"] == pytest.approx(error, rel=1e-6)
    np.testing.assert_allclose(
        predictions["price"], fitted_by_keras.predict(BOTH, verbose=0), rtol=1e-5, atol=1e-6
    )
    before = keras.models.load_model(saved).evaluate(BOTH[:BATCH], PRICE[:BATCH], verbose=0)
    assert history.losses[0] == pytest.approx(before[0], rel=1e-6)


@several
def test_a_distributed_evaluation_reports_the_loss_of_one_device(
    tmp_path: Path, strategy: str
) -> None:
    model = described(tmp_path)
    train(model, settings(), source(), steps=2)
    alone = evaluate(model, settings(), source(epochs=1))
    shared = evaluate(model, settings(evaluation=strategy), source(epochs=1))
    assert shared == pytest.approx(alone, rel=1e-6)


@several
def test_batch_normalisation_keeps_averages_over_all_devices(tmp_path: Path, strategy: str) -> None:
    def normalised() -> Any:
        # With a learning rate of zero the previous layer does not change, however each device normalises.
        middle = keras.layers.BatchNormalization()
        return built(legacy.SGD(0.0), middle=middle)

    train(described(tmp_path / "a", normalised), settings(), source(), steps=3)
    train(described(tmp_path / "b", normalised), settings(strategy), source(), steps=3)
    alone, shared = weights(tmp_path / "a"), weights(tmp_path / "b")
    moved = alone["batch_normalization/moving_mean"]
    assert np.abs(moved).min() > 0
    np.testing.assert_allclose(shared["batch_normalization/moving_mean"], moved, rtol=1e-5)


SYNCHRONISED = {
    "by its class": lambda: keras.layers.experimental.SyncBatchNormalization(),
    # Keras's own clone of such a layer is not synchronised.
    "by an argument": lambda: keras.layers.BatchNormalization(synchronized=True),
}


@several
@pytest.mark.parametrize("how", SYNCHRONISED)
def test_synchronised_batch_normalisation_is_that_of_one_device(
    tmp_path: Path, how: str, strategy: str
) -> None:
    def synchronised() -> Any:
        return built(middle=SYNCHRONISED[how]())

    train(described(tmp_path / "a", synchronised), settings(), source(), steps=6)
    train(described(tmp_path / "b", synchronised), settings(strategy), source(), steps=6)
    alone, shared = weights(tmp_path / "a"), weights(tmp_path / "b")
    for name, value in alone.items():
        np.testing.assert_allclose(shared[name], value, rtol=1e-6, atol=1e-6, err_msg=name)


def test_batch_normalisation_is_that_of_keras_on_one_device(tmp_path: Path) -> None:
    model = built(middle=keras.layers.BatchNormalization())
    model.save(tmp_path / "model.keras")
    description = from_file(tmp_path / "m", tmp_path / "model.keras")
    train(description, settings(), source(), steps=5)
    expected = fitted(model, steps=5)
    loss = evaluate(description, settings(), source(epochs=1))["loss"]
    assert loss == pytest.approx(expected.evaluate(BOTH, PRICE, verbose=0)[0], rel=1e-5)


def test_functions_of_the_user_in_layers_are_those_of_keras_on_one_device(tmp_path: Path) -> None:
    middle = keras.layers.Dense(
        4,
        activation=lambda x: x * x,
        kernel_initializer=lambda shape, dtype=None, **_: keras.backend.constant(0.5, dtype, shape),
        kernel_regularizer=lambda weights: keras.backend.sum(weights) * 0.1,
    )
    model = built(middle=middle)
    description = described(tmp_path, lambda: model)
    train(description, settings(), source(), steps=3)
    np.testing.assert_allclose(
        concatenate(predict(description, settings(), source(epochs=1)))["price"],
        fitted(model, steps=3).predict(BOTH, verbose=0),
        rtol=1e-5,
        atol=1e-6,
    )


@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_several_outputs_learn_from_several_responses(tmp_path: Path, strategy: str) -> None:
    model = described(tmp_path, two_headed)
    data = from_function(two_responses)
    train(model, settings(strategy), data, steps=3)
    metrics = evaluate(model, settings(strategy), data, steps=4)
    assert metrics["loss"] == pytest.approx(
        metrics["price_loss"] + metrics["head_1_loss"], rel=1e-6
    )
    # TensorFlow's own conversion names this output "head" under a strategy.
    predictions = concatenate(predict(model, settings(strategy), source(epochs=1)))
    assert {name: value.shape for name, value in predictions.items()} == {
        "price": (ROWS, 1),
        "head_1": (ROWS, 2),
    }


def test_one_response_goes_to_the_only_output_with_a_loss(tmp_path: Path) -> None:
    model = described(tmp_path / "a", lambda: two_headed({"price": "mse"}))
    history = train(model, settings(), source(), steps=8)
    assert history.losses[-1] < history.losses[0]
    with pytest.raises(InputError, match='outputs "price", "head_1" each need a response'):
        train(described(tmp_path / "b", two_headed), settings(), source(), steps=1)


@sampled("ending", [".keras", ".h5", ""], check=[".keras"])
@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file")
def test_training_starts_from_the_weights_of_a_saved_model(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"saved{ending}"
    model = built(legacy.SGD(0.0))
    model.save(path)
    description = from_file(tmp_path / "m", path)
    train(description, settings("mirrored"), source(), steps=1)
    predictions = concatenate(predict(description, settings(), source(epochs=1)))["price"]
    np.testing.assert_allclose(predictions, model.predict(BOTH, verbose=0), rtol=1e-5, atol=1e-6)


def test_layers_that_draw_numbers_follow_the_runs_seed(tmp_path: Path) -> None:
    def dropping() -> Any:
        return built(middle=keras.layers.Dropout(0.5))

    random.seed(1)
    first = train(described(tmp_path / "a", dropping), settings(), source(), steps=2).losses
    random.seed(2)
    second = train(described(tmp_path / "b", dropping), settings(), source(), steps=2).losses
    assert first == second


@sampled("name", ["sgd", "adam"], check=["adam"])
def test_new_optimizers_are_exchanged_for_their_legacy_twins(tmp_path: Path, name: str) -> None:
    model = built(name)
    model.save(tmp_path / "model.keras")
    train(
        from_file(tmp_path / "m", tmp_path / "model.keras"),
        settings(),
        source(),
        steps=4,
    )
    expected = fitted(model, steps=4)
    np.testing.assert_allclose(
        weights(tmp_path / "m")["price/kernel"],
        expected.get_layer("price").kernel.numpy(),
        rtol=1e-5,
        atol=1e-6,
    )


@sampled("family", ["legacy", "new"], check=["new"])
def test_continued_training_uses_the_given_learning_rate(tmp_path: Path, family: str) -> None:
    optimizers = keras.optimizers.legacy if family == "legacy" else keras.optimizers
    fast = described(tmp_path, lambda: built(optimizers.SGD(0.1)))
    train(fast, settings(), source(), steps=2)
    before = weights(tmp_path)
    train(described(tmp_path, lambda: built(optimizers.SGD(0.0))), settings(), source(), steps=2)
    after = weights(tmp_path)
    assert after["global_step"] == 4
    np.testing.assert_array_equal(after["dense/kernel"], before["dense/kernel"])


def test_training_continues_under_another_strategy(saved: Path, tmp_path: Path) -> None:
    for directory, order in (("a", ("none",) * 3), ("b", ("mirrored", "none", "central storage"))):
        model = from_file(tmp_path / directory, saved)
        for strategy in order:
            # Six steps are one epoch, so each part starts with the same rows.
            train(model, settings(strategy), source(), steps=6)
    undisturbed, moved = weights(tmp_path / "a"), weights(tmp_path / "b")
    assert undisturbed.keys() == moved.keys()
    for name, value in undisturbed.items():
        np.testing.assert_allclose(moved[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_features_side_by_side_keep_the_order_of_the_training(tmp_path: Path) -> None:
    model = described(tmp_path)
    train(model, settings(), source(("width", "height")), steps=6)
    trained = concatenate(predict(model, settings(), source(("width", "height"), epochs=1)))
    turned = concatenate(predict(model, settings(), source(("height", "width"), epochs=1)))
    np.testing.assert_array_equal(turned["price"], trained["price"])
    with pytest.raises(InputError, match='trained on the feature "height"'):
        next(predict(model, settings(), source(("width",), epochs=1)))


def test_a_matrix_is_read_whatever_its_name(tmp_path: Path) -> None:
    train(described(tmp_path / "a"), settings(), source(("both",)), steps=3)
    train(described(tmp_path / "b"), settings(), source(), steps=3)
    np.testing.assert_array_equal(
        weights(tmp_path / "a")["dense/kernel"], weights(tmp_path / "b")["dense/kernel"]
    )


def test_the_history_of_train_and_evaluate_has_the_loss_over_rows(tmp_path: Path) -> None:
    model = described(tmp_path)
    history = train_and_evaluate(
        model,
        settings("mirrored"),
        TrainSpec(source(), max_steps=4),
        EvalSpec(source(epochs=1, batch_size=36), throttle_secs=0),
    )
    expected = evaluate(model, settings(), source(epochs=1))
    assert history.evaluations[-1]["loss"] == pytest.approx(expected["loss"], rel=1e-6)
    assert "average_loss" not in history.evaluations[-1]


@pytest.mark.parametrize("known", [True, False])
def test_an_exported_model_gives_the_numbers_of_predict(tmp_path: Path, known: bool) -> None:
    model = described(tmp_path / "m", two_headed)
    data = from_function(two_responses)
    if known:
        model, data = described(tmp_path / "m"), source()
    train(model, settings(), data, steps=2)
    expected = concatenate(predict(model, settings(), source(epochs=1)))
    path = export_savedmodel(model, settings(), str(tmp_path / "export"))
    # The training features by name, or the model's inputs.
    width, height = (WIDTH, HEIGHT) if known else (WIDTH[:, None], HEIGHT[:, None])
    answer = tf.saved_model.load(path).signatures["serving_default"](
        width=tf.constant(width), height=tf.constant(height)
    )
    for name, value in expected.items():
        np.testing.assert_allclose(answer[name], value, rtol=1e-6)
