"""Keras models: cloning, calls and refusals."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.columns import facts
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
    from_file,
    keras,
    settings,
    source,
    two_headed,
    weights,
)
from support.models import model as described_model

from tfdistribute.callbacks import Callback
from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.errors import CallbackError, InputError, ModelDirectoryError, ModelError
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")


def test_a_function_gives_the_same_model_and_leaves_random_state_alone(tmp_path: Path) -> None:
    tf.random.set_seed(1)
    random.seed(1)
    expected = [float(tf.random.uniform([])), random.random()]
    first_name = keras.layers.Dense(1).name
    tf.random.set_seed(1)
    random.seed(1)
    for _ in range(2):
        described(tmp_path).structure()
    train(described(tmp_path / "a"), settings(), source(), steps=1)
    assert [float(tf.random.uniform([])), random.random()] == expected
    assert keras.layers.Dense(1).name not in (first_name, "dense")
    # A second estimator in the same process has the same names and, with the run's seed, the same weights.
    train(described(tmp_path / "b"), settings(), source(), steps=1)
    train(described(tmp_path / "c"), settings(seed=6), source(), steps=1)
    first, second, other = (weights(tmp_path / name)["dense/kernel"] for name in "abc")
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 0.01
    train(described(tmp_path / "a"), settings(), source(), steps=1)
    assert weights(tmp_path / "a")["global_step"] == 2


def test_models_that_were_there_before_still_work_afterwards(tmp_path: Path) -> None:
    mine = built()
    model = described(tmp_path)
    train(model, settings("mirrored"), source(), steps=1)
    mine.fit(BOTH, PRICE, verbose=0)
    evaluate(model, settings(), source(epochs=1))
    mine.evaluate(BOTH, PRICE, verbose=0)
    concatenate(predict(model, settings(), source(epochs=1)))
    assert mine.predict(BOTH, verbose=0).shape == (ROWS, 1)


@pytest.mark.parametrize("optimizer", ["Lion", "AdamW"])
def test_an_optimizer_without_a_twin_is_refused_by_name(tmp_path: Path, optimizer: str) -> None:
    model = described(tmp_path, lambda: built(getattr(keras.optimizers, optimizer)()))
    with pytest.raises(ModelError, match=f"compiled with the optimizer {optimizer}, which an"):
        train(model, settings(), source(), steps=1)


def test_the_features_that_are_read_are_known(tmp_path: Path) -> None:
    features = facts(height=("float", ()), width=("float", ()))
    one = described(tmp_path).complete_from_input(InputFacts(features))
    assert [need.feature for need in one.required_features()] == ["height", "width"]
    two = described(tmp_path, two_headed)
    assert {need.feature for need in two.required_features()} == {"width", "height"}


def test_the_order_of_a_functions_features_is_not_guessed(tmp_path: Path) -> None:
    def rows() -> Any:
        features = {"width": WIDTH, "height": HEIGHT}
        return tf.data.Dataset.from_tensor_slices((features, PRICE)).batch(BATCH)

    with pytest.raises(InputError, match="the order of the features .* is not known"):
        train(described(tmp_path), settings(), from_function(rows), steps=1)


def test_another_models_directory_is_refused(tmp_path: Path) -> None:
    train(described(tmp_path), settings(), source(), steps=1)
    wider = described(tmp_path, lambda: built(middle=keras.layers.Dense(7)))
    with pytest.raises(ModelDirectoryError, match="holds another model: its weights"):
        evaluate(wider, settings(), source(epochs=1))


def test_custom_objects_stand_for_what_a_file_only_names(tmp_path: Path) -> None:
    def twice(y_true: Any, y_pred: Any) -> Any:
        return 2 * tf.reduce_mean(tf.square(y_true - y_pred), axis=-1)

    path = str(tmp_path / "model.keras")
    built(loss=twice).save(path)
    wire = {"call": lambda *args: {"value": twice(*args)}, "formals": ["y_true", "y_pred"]}
    model = from_file(tmp_path / "m", path, custom_objects={"twice": wire})
    assert model.has_callbacks()
    train(model, settings("mirrored"), source(), steps=1)
    metrics = evaluate(model, settings(), source(epochs=1))
    loaded = keras.models.load_model(path, custom_objects={"twice": twice})
    assert metrics["loss"] > 0
    assert loaded.loss is twice
    with pytest.raises(ModelError, match="cannot be loaded: .*twice"):
        train(from_file(tmp_path / "n", path), settings(), source(), steps=1)


def test_an_error_in_a_loss_says_what_went_wrong(tmp_path: Path) -> None:
    def broken(y_true: Any, y_pred: Any) -> Any:
        raise RuntimeError("no luck today")

    with pytest.raises(CallbackError, match="RuntimeError: no luck today"):
        train(described(tmp_path, lambda: built(loss=broken)), settings(), source(), steps=1)


def test_functions_of_r_are_called_on_the_thread_that_trains(tmp_path: Path) -> None:
    threads = []

    def mean(y_true: Any, y_pred: Any) -> Any:
        threads.append(threading.get_ident())
        return tf.reduce_mean(tf.square(y_true - y_pred))

    callback = Callback(lambda: {"value": built(loss=mean)}, ())
    model = described(tmp_path, callback)
    assert model.has_callbacks()
    train(model, settings("mirrored"), source(), steps=1)
    assert threads == [threading.get_ident()] * 2


UNUSABLE: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "`keras_model` is NULL, not a tf.keras model"),
    "not compiled": (
        lambda: keras.Sequential([keras.layers.Dense(1, input_shape=(2,))]),
        "`keras_model` is not compiled",
    ),
    "no inputs": (lambda: compiled(keras.Sequential([keras.layers.Dense(1)])), "not know its"),
    "a subclass": (lambda: compiled(type("Own", (keras.Model,), {})()), "is a subclass of Model"),
}


def compiled(model: Any) -> Any:
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_cannot_be_cloned_is_refused_by_name(tmp_path: Path, case: str) -> None:
    function, message = UNUSABLE[case]
    with pytest.raises(ModelError, match=message):
        train(described(tmp_path, function), settings(), source(), steps=1)


def test_a_missing_file_is_named_before_tensorflow_starts() -> None:
    with pytest.raises(ModelError, match='`keras_model_path` "no/such.keras" does not exist'):
        from_file(Path("m"), "no/such.keras").check(InputFacts())


@pytest.mark.parametrize("fields", [{}, {"path": "a", "function": built}])
def test_there_is_one_model(fields: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="A Keras model needs `path` or `function`"):
        described_model("keras", **fields)


def test_responses_that_no_loss_can_compare_are_named(tmp_path: Path) -> None:
    def classifier() -> Any:
        model = keras.Sequential([keras.layers.Dense(3, input_shape=(2,))])
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    features = facts(width=("float", ()), height=("float", ()))
    model = described(tmp_path, classifier)
    with pytest.raises(InputError, match='"y" holds strings'):
        model.check(InputFacts(features, ColumnFacts("y", "string")))
    with pytest.raises(InputError, match="goes from 1 to 3, .* its classes are 0 to 2"):
        model.check(InputFacts(features, ColumnFacts("y", "integer"), label_range=(1, 3)))
    with pytest.raises(InputError, match="no response"):
        model.check(InputFacts(features))
    model.check(InputFacts(features), needs_label=False)
    model.check(InputFacts(features, ColumnFacts("y", "integer"), label_range=(0, 2)))
