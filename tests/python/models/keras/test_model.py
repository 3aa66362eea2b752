"""Keras models as estimators: the numbers of Keras's own fit() and evaluate(), on any devices."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

from tfdistribute.callbacks import Callback
from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import (
    CallbackError,
    InputError,
    ModelDirectoryError,
    ModelError,
)
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.models.keras.inputs import KerasInput, check_fit, route
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.predict import joined, predict
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate
from tfdistribute.training.variables import variable_names, variable_value

ROWS, BATCH, STEPS, SEED = 96, 16, 12, 5

numbers = np.random.default_rng(3)
WIDTH = numbers.normal(size=ROWS).astype("float32")
HEIGHT = numbers.normal(size=ROWS).astype("float32")
BOTH = np.stack([WIDTH, HEIGHT], axis=1)
PRICE = (WIDTH - 2 * HEIGHT).astype("float32")

STRATEGIES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "one device": {"kind": "one_device", "device": "CPU:0"},
    "mirrored": {"kind": "mirrored", "devices": 2},
    "central storage": {"kind": "central_storage", "devices": 2},
}
SEVERAL = ("mirrored", "central storage")
several = sampled("strategy", SEVERAL, check=["mirrored"])

pytestmark = pytest.mark.usefixtures("tensorflow")


def keras() -> Any:
    import tensorflow as tf

    return tf.keras


def built(optimizer: Any = None, loss: Any = "mse", units: int = 2, middle: Any = None) -> Any:
    """Two hidden layers that read two numbers, compiled."""
    layers = keras().layers
    model = keras().Sequential(
        [
            layers.Dense(4, activation="tanh", kernel_regularizer="l2", input_shape=(units,)),
            *([middle] if middle is not None else []),
            layers.Dense(1, name="price"),
        ]
    )
    legacy = keras().optimizers.legacy
    model.compile(optimizer=optimizer or legacy.SGD(0.05, momentum=0.5), loss=loss, metrics=["mae"])
    return model


def two_headed(losses: Any = None) -> Any:
    """Two named inputs and two outputs, one of which has a name that numbers itself."""
    layers = keras().layers
    width, height = keras().Input((1,), name="width"), keras().Input((1,), name="height")
    hidden = layers.Dense(3, activation="tanh")(layers.Concatenate()([width, height]))
    outputs = [layers.Dense(1, name="price")(hidden), layers.Dense(2, name="head_1")(hidden)]
    model = keras().Model([width, height], outputs)
    model.compile(keras().optimizers.legacy.SGD(0.05), losses or {"price": "mse", "head_1": "mae"})
    return model


def described(directory: Path, function: Callable[[], Any] | None = built, **fields: Any) -> Model:
    if function is not None:
        fields["function"] = function
    return read(Model, {"kind": "keras", "model_dir": str(directory), **fields})


def settings(
    strategy: str = "none",
    evaluation: str = "none",
    seed: int = SEED,
    steps_per_run: int | str = 1,
) -> RunSettings:
    return read(
        RunSettings,
        {
            "train_distribute": STRATEGIES[strategy],
            "eval_distribute": STRATEGIES[evaluation],
            "tf_random_seed": seed,
            "steps_per_run": steps_per_run,
        },
    )


def source(
    names: tuple[str, ...] = ("width", "height"),
    batch_size: int = BATCH,
    num_epochs: int | None = None,
    label: Any = PRICE,
) -> Input:
    data = {"width": WIDTH, "height": HEIGHT, "both": BOTH, "word": None}
    columns: list[dict[str, Any]] = []
    for name in names:
        values = data[name]
        shape = [] if values is None else list(values.shape[1:])
        columns.append(
            {"name": name, "type": "float", "values": lambda v=values: v, "shape": shape}
        )
    columns.append({"name": "y", "type": "float", "values": lambda: label})
    return read(
        Input,
        {
            "kind": "in_memory",
            "columns": columns,
            "response": "y",
            "batch_size": batch_size,
            "num_epochs": num_epochs,
            "shuffle": False,
        },
    )


def from_function(make: Callable[[], Any]) -> Input:
    return read(Input, {"kind": "dataset_function", "function": make})


def two_answers() -> Any:
    """A dataset whose examples have a response for each of two outputs."""
    import tensorflow as tf

    features = {"width": WIDTH, "height": HEIGHT}
    answers = {"price": PRICE, "head_1": BOTH}
    return tf.data.Dataset.from_tensor_slices((features, answers)).repeat().batch(BATCH)


def fitted(model: Any, steps: int = STEPS, rows: Any = BOTH, answers: Any = PRICE) -> Any:
    """The same training by Keras alone, on one device."""
    import tensorflow as tf

    batches = tf.data.Dataset.from_tensor_slices((rows, answers)).repeat().batch(BATCH)
    model.fit(batches, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=0)
    return model


def weights(directory: Path) -> dict[str, Any]:
    names = variable_names(str(directory))
    return {name: variable_value(str(directory), name) for name in names}


@pytest.fixture(scope="module")
def saved(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    built().save(path)
    return path


@pytest.fixture(scope="module")
def fitted_by_keras(saved: Path) -> Any:
    return fitted(keras().models.load_model(saved))


@sampled(
    ("strategy", "steps_per_run"),
    [*((each, 1) for each in STRATEGIES), ("mirrored", "auto")],
    check=[("central storage", 1), ("mirrored", "auto")],
)
def test_every_strategy_gives_the_numbers_of_keras(
    saved: Path,
    fitted_by_keras: Any,
    runs: list[int],
    tmp_path: Path,
    strategy: str,
    steps_per_run: int | str,
) -> None:
    model = described(tmp_path, None, path=str(saved))
    history = train(model, settings(strategy, steps_per_run=steps_per_run), source(), steps=STEPS)
    assert (max(runs, default=0) > 1) == (steps_per_run == "auto")
    metrics = evaluate(model, settings(strategy), source(num_epochs=1, batch_size=36))
    predictions = joined(predict(model, settings(strategy), source(num_epochs=1)))

    found = weights(tmp_path)
    for weight in fitted_by_keras.weights:
        name = weight.name.partition(":")[0]
        np.testing.assert_allclose(found[name], weight.numpy(), rtol=1e-6, atol=1e-6, err_msg=name)
    # Batches of 36, 36 and 24 rows: every row counts the same.
    loss, error = fitted_by_keras.evaluate(BOTH, PRICE, verbose=0)
    assert metrics["loss"] == pytest.approx(loss, rel=1e-6)
    assert metrics["mae"] == pytest.approx(error, rel=1e-6)
    np.testing.assert_allclose(
        predictions["price"], fitted_by_keras.predict(BOTH, verbose=0), rtol=1e-5, atol=1e-6
    )
    before = keras().models.load_model(saved).evaluate(BOTH[:BATCH], PRICE[:BATCH], verbose=0)
    assert history.losses[0] == pytest.approx(before[0], rel=1e-6)


@several
def test_the_loss_of_a_distributed_evaluation_is_not_divided_by_the_devices(
    tmp_path: Path, strategy: str
) -> None:
    model = described(tmp_path)
    train(model, settings(), source(), steps=2)
    alone = evaluate(model, settings(), source(num_epochs=1))
    shared = evaluate(model, settings(evaluation=strategy), source(num_epochs=1))
    assert shared == pytest.approx(alone, rel=1e-6)


@several
def test_batch_normalisation_keeps_averages_over_all_devices(tmp_path: Path, strategy: str) -> None:
    def normalised() -> Any:
        # A learning rate of zero: whatever each device normalises by, the layer before stays the same.
        middle = keras().layers.BatchNormalization()
        return built(keras().optimizers.legacy.SGD(0.0), middle=middle)

    train(described(tmp_path / "a", normalised), settings(), source(), steps=3)
    train(described(tmp_path / "b", normalised), settings(strategy), source(), steps=3)
    alone, shared = weights(tmp_path / "a"), weights(tmp_path / "b")
    moved = alone["batch_normalization/moving_mean"]
    assert np.abs(moved).min() > 0
    np.testing.assert_allclose(shared["batch_normalization/moving_mean"], moved, rtol=1e-5)


def test_batch_normalisation_is_that_of_keras_on_one_device(tmp_path: Path) -> None:
    model = built(middle=keras().layers.BatchNormalization())
    model.save(tmp_path / "model.keras")
    description = described(tmp_path / "m", None, path=str(tmp_path / "model.keras"))
    train(description, settings(), source(), steps=5)
    expected = fitted(model, steps=5)
    loss = evaluate(description, settings(), source(num_epochs=1))["loss"]
    assert loss == pytest.approx(expected.evaluate(BOTH, PRICE, verbose=0)[0], rel=1e-5)


@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_several_outputs_learn_from_several_responses(tmp_path: Path, strategy: str) -> None:
    model = described(tmp_path, two_headed)
    data = from_function(two_answers)
    train(model, settings(strategy), data, steps=3)
    metrics = evaluate(model, settings(strategy), data, steps=4)
    assert metrics["loss"] == pytest.approx(
        metrics["price_loss"] + metrics["head_1_loss"], rel=1e-6
    )
    # TensorFlow's own conversion calls this output "head" under a strategy.
    predictions = joined(predict(model, settings(strategy), source(num_epochs=1)))
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
    model = built(keras().optimizers.legacy.SGD(0.0))
    model.save(path)
    description = described(tmp_path / "m", None, path=str(path))
    train(description, settings("mirrored"), source(), steps=1)
    predictions = joined(predict(description, settings(), source(num_epochs=1)))["price"]
    np.testing.assert_allclose(predictions, model.predict(BOTH, verbose=0), rtol=1e-5, atol=1e-6)


def test_a_function_gives_the_same_model_each_time_and_disturbs_nobody(tmp_path: Path) -> None:
    import tensorflow as tf

    tf.random.set_seed(1)
    random.seed(1)
    expected = [float(tf.random.uniform([])), random.random()]
    first_name = keras().layers.Dense(1).name
    tf.random.set_seed(1)
    random.seed(1)
    for _ in range(2):
        described(tmp_path).structure()
    train(described(tmp_path / "a"), settings(), source(), steps=1)
    assert [float(tf.random.uniform([])), random.random()] == expected
    assert keras().layers.Dense(1).name not in (first_name, "dense")
    # Another estimator, made later: the same names, and the same weights by the run's seed.
    train(described(tmp_path / "b"), settings(), source(), steps=1)
    train(described(tmp_path / "c"), settings(seed=6), source(), steps=1)
    first, second, other = (weights(tmp_path / name)["dense/kernel"] for name in "abc")
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 0.01
    train(described(tmp_path / "a"), settings(), source(), steps=1)
    assert weights(tmp_path / "a")["global_step"] == 2


def test_layers_that_draw_numbers_follow_the_runs_seed(tmp_path: Path) -> None:
    def dropping() -> Any:
        return built(middle=keras().layers.Dropout(0.5))

    random.seed(1)
    first = train(described(tmp_path / "a", dropping), settings(), source(), steps=2).losses
    random.seed(2)
    second = train(described(tmp_path / "b", dropping), settings(), source(), steps=2).losses
    assert first == second


def test_models_that_were_there_before_still_work_afterwards(tmp_path: Path) -> None:
    mine = built()
    model = described(tmp_path)
    train(model, settings("mirrored"), source(), steps=1)
    mine.fit(BOTH, PRICE, verbose=0)
    evaluate(model, settings(), source(num_epochs=1))
    mine.evaluate(BOTH, PRICE, verbose=0)
    joined(predict(model, settings(), source(num_epochs=1)))
    assert mine.predict(BOTH, verbose=0).shape == (ROWS, 1)


@sampled("name", ["sgd", "adam"], check=["adam"])
def test_new_optimizers_are_exchanged_for_their_legacy_twins(tmp_path: Path, name: str) -> None:
    model = built(name)
    model.save(tmp_path / "model.keras")
    train(
        described(tmp_path / "m", None, path=str(tmp_path / "model.keras")),
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


@pytest.mark.parametrize("optimizer", ["Lion", "AdamW"])
def test_an_optimizer_without_a_twin_is_refused_by_name(tmp_path: Path, optimizer: str) -> None:
    model = described(tmp_path, lambda: built(getattr(keras().optimizers, optimizer)()))
    with pytest.raises(ModelError, match=f"compiled with the optimizer {optimizer}, which an"):
        train(model, settings(), source(), steps=1)


@sampled("family", ["legacy", "new"], check=["new"])
def test_a_training_that_goes_on_takes_the_learning_rate_it_is_given(
    tmp_path: Path, family: str
) -> None:
    optimizers = keras().optimizers.legacy if family == "legacy" else keras().optimizers
    fast = described(tmp_path, lambda: built(optimizers.SGD(0.1)))
    train(fast, settings(), source(), steps=2)
    before = weights(tmp_path)
    train(described(tmp_path, lambda: built(optimizers.SGD(0.0))), settings(), source(), steps=2)
    after = weights(tmp_path)
    assert after["global_step"] == 4
    np.testing.assert_array_equal(after["dense/kernel"], before["dense/kernel"])


def test_a_checkpoint_goes_on_under_another_strategy(saved: Path, tmp_path: Path) -> None:
    for directory, order in (("a", ("none",) * 3), ("b", ("mirrored", "none", "central storage"))):
        model = described(tmp_path / directory, None, path=str(saved))
        for strategy in order:
            # Six steps are one epoch, so each part begins with the same rows.
            train(model, settings(strategy), source(), steps=6)
    undisturbed, moved = weights(tmp_path / "a"), weights(tmp_path / "b")
    assert undisturbed.keys() == moved.keys()
    for name, value in undisturbed.items():
        np.testing.assert_allclose(moved[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_features_side_by_side_keep_the_order_of_the_training(tmp_path: Path) -> None:
    model = described(tmp_path)
    train(model, settings(), source(("width", "height")), steps=6)
    trained = joined(predict(model, settings(), source(("width", "height"), num_epochs=1)))
    turned = joined(predict(model, settings(), source(("height", "width"), num_epochs=1)))
    np.testing.assert_array_equal(turned["price"], trained["price"])
    with pytest.raises(InputError, match='trained on the feature "height"'):
        next(predict(model, settings(), source(("width",), num_epochs=1)))


def test_a_matrix_is_read_whatever_its_name(tmp_path: Path) -> None:
    train(described(tmp_path / "a"), settings(), source(("both",)), steps=3)
    train(described(tmp_path / "b"), settings(), source(), steps=3)
    np.testing.assert_array_equal(
        weights(tmp_path / "a")["dense/kernel"], weights(tmp_path / "b")["dense/kernel"]
    )


def test_the_features_that_are_read_are_known(tmp_path: Path) -> None:
    features = facts(height=("float", ()), width=("float", ()))
    one = described(tmp_path).with_facts(InputFacts(features))
    assert [need.feature for need in one.needed_features()] == ["height", "width"]
    two = described(tmp_path, two_headed)
    assert {need.feature for need in two.needed_features()} == {"width", "height"}


def test_the_order_of_a_functions_features_is_not_guessed(tmp_path: Path) -> None:
    def rows() -> Any:
        import tensorflow as tf

        features = {"width": WIDTH, "height": HEIGHT}
        return tf.data.Dataset.from_tensor_slices((features, PRICE)).batch(BATCH)

    with pytest.raises(InputError, match="in what order"):
        train(described(tmp_path), settings(), from_function(rows), steps=1)


def test_the_history_of_train_and_evaluate_has_the_loss_over_rows(tmp_path: Path) -> None:
    model = described(tmp_path)
    history = train_and_evaluate(
        model,
        settings("mirrored"),
        TrainSpec(source(), max_steps=4),
        EvalSpec(source(num_epochs=1, batch_size=36), throttle_s=0),
    )
    expected = evaluate(model, settings(), source(num_epochs=1))
    assert history.evaluations[-1]["loss"] == pytest.approx(expected["loss"], rel=1e-6)
    assert "average_loss" not in history.evaluations[-1]


@pytest.mark.parametrize("known", [True, False])
def test_an_exported_model_gives_the_numbers_of_predict(tmp_path: Path, known: bool) -> None:
    import tensorflow as tf

    model = described(tmp_path / "m", two_headed)
    data = from_function(two_answers)
    if known:
        model, data = described(tmp_path / "m"), source()
    train(model, settings(), data, steps=2)
    expected = joined(predict(model, settings(), source(num_epochs=1)))
    path = export_savedmodel(model, settings(), str(tmp_path / "export"))
    # Features of the training by their names, or the model's inputs.
    width, height = (WIDTH, HEIGHT) if known else (WIDTH[:, None], HEIGHT[:, None])
    answer = tf.saved_model.load(path).signatures["serving_default"](
        width=tf.constant(width), height=tf.constant(height)
    )
    for name, value in expected.items():
        np.testing.assert_allclose(answer[name], value, rtol=1e-6)


def test_another_models_directory_is_refused(tmp_path: Path) -> None:
    train(described(tmp_path), settings(), source(), steps=1)
    wider = described(tmp_path, lambda: built(middle=keras().layers.Dense(7)))
    with pytest.raises(ModelDirectoryError, match="holds another model: its weights"):
        evaluate(wider, settings(), source(num_epochs=1))


def test_custom_objects_stand_for_what_a_file_only_names(tmp_path: Path) -> None:
    def twice(y_true: Any, y_pred: Any) -> Any:
        import tensorflow as tf

        return 2 * tf.reduce_mean(tf.square(y_true - y_pred), axis=-1)

    path = str(tmp_path / "model.keras")
    built(loss=twice).save(path)
    wire = {"call": lambda *args: {"value": twice(*args)}, "formals": ["y_true", "y_pred"]}
    model = described(tmp_path / "m", None, path=path, custom_objects={"twice": wire})
    assert model.has_callbacks()
    train(model, settings("mirrored"), source(), steps=1)
    metrics = evaluate(model, settings(), source(num_epochs=1))
    loaded = keras().models.load_model(path, custom_objects={"twice": twice})
    assert metrics["loss"] > 0
    assert loaded.loss is twice
    with pytest.raises(ModelError, match="cannot be loaded: .*twice"):
        train(described(tmp_path / "n", None, path=path), settings(), source(), steps=1)


def test_an_error_in_a_loss_says_what_went_wrong(tmp_path: Path) -> None:
    def broken(y_true: Any, y_pred: Any) -> Any:
        raise RuntimeError("no luck today")

    with pytest.raises(CallbackError, match="RuntimeError: no luck today"):
        train(described(tmp_path, lambda: built(loss=broken)), settings(), source(), steps=1)


def test_functions_of_r_are_called_on_the_thread_that_trains(tmp_path: Path) -> None:
    import threading

    threads = []

    def mean(y_true: Any, y_pred: Any) -> Any:
        import tensorflow as tf

        threads.append(threading.get_ident())
        return tf.reduce_mean(tf.square(y_true - y_pred))

    callback = Callback(lambda: {"value": built(loss=mean)}, ())
    model = described(tmp_path, callback)
    assert model.has_callbacks()
    train(model, settings("mirrored"), source(), steps=1)
    assert threads == [threading.get_ident()] * 2


UNUSABLE: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "`keras_model` is nothing and no tf.keras model"),
    "not compiled": (
        lambda: keras().Sequential([keras().layers.Dense(1, input_shape=(2,))]),
        "`keras_model` is not compiled",
    ),
    "no inputs": (lambda: compiled(keras().Sequential([keras().layers.Dense(1)])), "not know its"),
    "a subclass": (lambda: compiled(type("Own", (keras().Model,), {})()), "is a subclass of Model"),
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
        described(Path("m"), None, path="no/such.keras").check(InputFacts())


@pytest.mark.parametrize("fields", [{}, {"path": "a", "function": built}])
def test_there_is_one_model(fields: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="A Keras model needs `path` or `function`"):
        read(Model, {"kind": "keras", "model_dir": "m", **fields})


def facts(**columns: tuple[str, tuple[int, ...]]) -> dict[str, ColumnFacts]:
    return {name: ColumnFacts(name, *column) for name, column in columns.items()}


ONE = (KerasInput("dense_input", (2,), "float32"),)
TWO = (KerasInput("a", (1,), "float32"), KerasInput("b", (), "string"))


def test_inputs_read_features_by_name_and_leave_others_out() -> None:
    features = facts(c=("float", ()), b=("string", ()), a=("integer", ()))
    routes = route(TWO, features, None)
    assert routes == {"a": ("a",), "b": ("b",)}
    check_fit(TWO, features, routes)


def test_one_input_reads_the_only_feature_or_all_side_by_side() -> None:
    assert route(ONE, facts(x=("float", (2,))), None) == {"dense_input": ("x",)}
    assert route(ONE, facts(x=("float", ()), y=("integer", ())), None) == {
        "dense_input": ("x", "y")
    }
    assert route(ONE, facts(y=("float", ()), x=("float", ())), ("x", "y")) == {
        "dense_input": ("x", "y")
    }


MISFITS = {
    "too few values": (ONE, facts(x=("float", ())), '"x" has one value per row'),
    "too many columns": (
        ONE,
        facts(x=("float", (2,)), y=("float", ())),
        "together they have 3 values per row",
    ),
    "strings among numbers": (
        ONE,
        facts(x=("float", ()), y=("string", ())),
        '"y" holds strings, which cannot',
    ),
    "no such name": (
        TWO,
        facts(a=("float", ()), B=("string", ())),
        '"b" is not among the features',
    ),
    "strings for numbers": (TWO, facts(a=("string", ()), b=("string", ())), "reads numbers"),
    "numbers for strings": (TWO, facts(a=("float", ()), b=("float", ())), "reads strings"),
    "a wider matrix": (TWO, facts(a=("float", (3,)), b=("string", ())), '"a" has 3 per row'),
}


@pytest.mark.parametrize("case", MISFITS)
def test_features_that_do_not_fit_are_named(case: str) -> None:
    inputs, features, message = MISFITS[case]
    with pytest.raises(InputError, match=message):
        check_fit(inputs, features, route(inputs, features, None))


def test_responses_that_no_loss_can_compare_are_named(tmp_path: Path) -> None:
    def classifier() -> Any:
        model = keras().Sequential([keras().layers.Dense(3, input_shape=(2,))])
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
