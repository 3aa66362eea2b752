"""Steps whose rows do not divide over the replicas: every row counts alike, as on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import checkpoints, custom_models, inputs, keras_models, models, strategies
from support.checkpoints import assert_alike
from support.sampling import sampled

from tfdistribute.descriptions import read
from tfdistribute.engine.step import replica_scale
from tfdistribute.inputs import Input
from tfdistribute.inputs.functions.serialized_dataset import serialize
from tfdistribute.inputs.functions.transformed import Transformed
from tfdistribute.models import Model
from tfdistribute.sharding import split
from tfdistribute.training.hooks import read_hooks
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

v1 = tf.compat.v1

RATE, BATCH = 0.02, 12
random = np.random.default_rng(2)
X = random.normal(size=200).astype("float32")
SHOP = random.integers(0, 5, size=200).astype("int32")
WEIGHT = random.uniform(0.0, 3.0, size=200).astype("float32")
WEIGHT[::7] = 0
# Rows differ much, so that a mean of means is another number than the mean.
Y = (3 * X + SHOP + random.normal(scale=4, size=200)).astype("float32")
COLUMNS = {"x": X, "shop": SHOP, "weight": WEIGHT, "y": Y}

NUMBER = {"kind": "numeric", "key": "x"}
IDENTITY = {"kind": "categorical_with_identity", "key": "shop", "num_buckets": 5}
EMBEDDING = {"kind": "embedding", "categorical_column": IDENTITY, "dimension": 2}


def weighted_mean(squares: Any, weights: Any) -> Any:
    # A replica with no weight at all would divide by 0.
    weights += 0.1
    return tf.reduce_sum(weights * squares) / tf.reduce_sum(weights)


def line(how: str, penalty: float = 0.0, mean: Any = None) -> Callable[..., Any]:
    """Make the model function of a line through 0, trained in a way of ``custom_models`` or with a tape."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        slope = v1.get_variable("slope", [], initializer=v1.zeros_initializer())
        with tf.GradientTape() as tape:
            output = features["x"] * slope
            squares = tf.square(labels - output)
            found = tf.reduce_mean(squares) if mean is None else mean(squares, features["weight"])
            loss = found + penalty * slope**2
        if mode != "train":
            train_op = None
        elif how == "tape":
            optimizer = custom_models.legacy.SGD(RATE)
            optimizer.iterations = v1.train.get_or_create_global_step()
            train_op = optimizer.apply_gradients([(tape.gradient(loss, slope), slope)])
        else:
            train_op = custom_models.TRAIN_OPS[how](loss, [slope])
        return {"loss": loss, "predictions": {"y": output}, "train_op": train_op}

    return model_fn


def custom(how: str, **fields: Any) -> Callable[[Path], Model]:
    return lambda directory: custom_models.described(line(how, **fields), directory)


def canned(kind: str, **fields: Any) -> Callable[[Path], Model]:
    return lambda directory: models.model(
        kind, directory, feature_columns=[NUMBER, IDENTITY], optimizer=models.sgd(RATE), **fields
    )


def deep(directory: Path) -> Model:
    columns = [NUMBER, EMBEDDING]
    fields = {"hidden_units": [4], "optimizer": models.optimizer("Adagrad", learning_rate=0.05)}
    return models.model(
        "dnn_regressor", directory, feature_columns=columns, weight_column="weight", **fields
    )


def keras(directory: Path, loss: Any = None) -> Model:
    def built() -> Any:
        tf.keras.utils.set_random_seed(1)
        layers, x = tf.keras.layers, tf.keras.Input((1,), name="x")
        hidden = layers.Dense(3, "tanh", kernel_regularizer="l2")(x)
        model = tf.keras.Model(x, layers.Dense(1, name="price")(hidden))
        model.compile(keras_models.legacy.SGD(RATE), loss or "mse")
        return model

    return keras_models.described(directory, built)


def keras_sum(directory: Path) -> Model:
    return keras(directory, tf.keras.losses.MeanSquaredError("sum"))


def keras_3(directory: Path, loss: Any = "mse") -> Model:
    k3 = pytest.importorskip("support.keras3_models")
    k3.keras.utils.set_random_seed(1)
    hidden = k3.layers.Dense(3, "tanh", kernel_regularizer="l2", name="hidden")
    layers = [hidden, k3.layers.Dense(1, name="price")]
    model = k3.keras.Sequential([k3.keras.Input((1,), name="x"), *layers])
    model.compile(k3.keras.optimizers.SGD(RATE), loss)
    return k3.described(directory, model)


def keras_3_sum(directory: Path) -> Model:
    k3 = pytest.importorskip("support.keras3_models")
    return keras_3(directory, k3.keras.losses.MeanSquaredError(reduction="sum"))


MODELS: dict[str, Callable[[Path], Model]] = {
    "function": custom("v1"),
    "function, Keras": custom("get_updates"),
    "function, tape": custom("tape"),
    "function, penalty": custom("apply_gradients", penalty=0.1),
    "function, weights": custom("get_updates", mean=weighted_mean),
    # TensorFlow 1's mean over the weights that are not zero.
    "function, some weights": custom(
        "v1", penalty=0.1, mean=lambda *values: v1.losses.compute_weighted_loss(*values)
    ),
    "linear": canned("linear_regressor"),
    "weighted": canned("linear_regressor", weight_column="weight"),
    "sum": canned("linear_regressor", loss_reduction="sum"),
    "deep": deep,
    "keras": keras,
    "keras sum": keras_sum,
    "keras 3": keras_3,
    "keras 3 sum": keras_3_sum,
}
STRATEGIES = ("mirrored", "mirrored over 3", "central storage")
# The last step has fewer rows; the steps before it have every number of rows.
STEPS = (12, *range(11, 2, -1), 7)


def batches_of(sizes: Sequence[int]) -> Input:
    """Describe a dataset of batches of the given sizes."""
    ends = np.cumsum(sizes)

    def dataset() -> Any:
        bounds = tf.data.Dataset.from_tensor_slices((ends - sizes, ends))
        return bounds.map(
            lambda begin, end: (
                {name: tf.constant(COLUMNS[name])[begin:end] for name in ("x", "shop", "weight")},
                tf.constant(Y)[begin:end],
            )
        )

    return inputs.from_function(dataset)


def full_batches(drop_remainder: bool = False) -> Any:
    features = {name: COLUMNS[name][: 2 * BATCH] for name in ("x", "shop", "weight")}
    data = tf.data.Dataset.from_tensor_slices((features, Y[: 2 * BATCH]))
    return data.batch(BATCH // 2, drop_remainder=drop_remainder)


def rows(count: int, epochs: int = 1, first: int = 0) -> Input:
    columns = {name: values[first : first + count] for name, values in COLUMNS.items()}
    return inputs.in_memory(columns, batch_size=BATCH, epochs=epochs, shuffle=False)


def table(folder: Path, count: int) -> Input:
    path = folder / "rows.csv"
    lines = zip(*(values[:count].tolist() for values in COLUMNS.values()), strict=True)
    path.write_text(
        f"{','.join(COLUMNS)}\n" + "".join(f"{','.join(map(repr, line))}\n" for line in lines)
    )
    fields = {"kind": "csv", "paths": str(path), "response": "y", "batch_size": BATCH}
    return read(Input, {**fields, "shuffle": False})


def generated(folder: Path, count: int) -> Input:
    waiting: list[Any] = []

    def columns(first: int) -> list[dict[str, Any]]:
        parts = {
            name: values[first : min(first + BATCH, count)] for name, values in COLUMNS.items()
        }
        kinds = {name: "integer" if name == "shop" else "float" for name in COLUMNS}
        return [{"name": name, "type": kinds[name], "values": part} for name, part in parts.items()]

    def begin() -> bool:
        waiting[:] = [*({"columns": columns(first)} for first in range(0, count, BATCH)), None]
        return True

    fields = {"begin": begin, "next_batch": lambda: waiting.pop(0), "response": "y"}
    return read(Input, {"kind": "generator", **fields})


def stored(folder: Path, count: int) -> Input:
    columns = {name: values[:count] for name, values in COLUMNS.items()}
    names, dataset = tuple(COLUMNS)[:-1], tf.data.Dataset.from_tensor_slices(columns).batch(BATCH)
    graph = serialize(dataset, names, "y")
    fields = {"kind": "serialized_dataset", "graph": graph, "features": names}
    return read(Input, {**fields, "response": "y"})


def transformed(folder: Path, count: int) -> Input:
    return Transformed(rows(count), transform=lambda features, labels: (dict(features), labels))


def trained(
    model: str, directory: Path, source: Input, strategy: str = "none", **fields: Any
) -> tuple[dict[str, Any], Any]:
    settings = strategies.settings(strategy, **{"seed": 4, "steps_per_run": 1, **fields})
    # Every loss is recorded, unless many steps are one run.
    every_n_steps = 1 if settings.steps_per_run == 1 else 10
    hooks = read_hooks([{"kind": "history_saver", "every_n_steps": every_n_steps}])
    history = train(MODELS[model](directory), settings, source, hooks=hooks)
    return checkpoints.variables(directory), history


def assert_equal(found: tuple[dict[str, Any], Any], expected: tuple[dict[str, Any], Any]) -> None:
    assert_alike(found[0], expected[0], rtol=1e-6, atol=2e-6)
    assert found[1].steps == expected[1].steps
    np.testing.assert_allclose(found[1].losses, expected[1].losses, rtol=2e-6)


def line_by_numpy(sizes: Sequence[int]) -> tuple[float, list[float]]:
    """Return the slope after steps of gradient descent, and the loss of each step, in 64 bits."""
    slope, begin, losses = 0.0, 0, list[float]()
    for size in sizes:
        x, y = (each[begin : begin + size].astype("float64") for each in (X, Y))
        losses.append(float(np.mean((y - x * slope) ** 2)))
        slope, begin = slope + 0.1 * 2 * float(np.mean((y - x * slope) * x)), begin + size
    return slope, losses


PAIRS = [(model, strategy) for model in MODELS for strategy in STRATEGIES]
CHECKED = [
    ("function", "mirrored over 3"),
    ("function, Keras", "mirrored"),
    ("function, tape", "mirrored"),
    ("function, weights", "mirrored over 3"),
    ("function, some weights", "central storage"),
    ("weighted", "central storage"),
    ("deep", "mirrored"),
    ("keras", "mirrored"),
    ("keras 3", "mirrored"),
]


@pytest.mark.promise("The same numbers")
@sampled(("model", "strategy"), PAIRS, check=CHECKED, versions=CHECKED[1::4])
def test_every_row_of_a_step_counts_alike(tmp_path: Path, model: str, strategy: str):
    replicas = 3 if "3" in strategy else 2
    expected = trained(model, tmp_path / "one", batches_of(STEPS))
    parts = [size for step in STEPS for size in split(step, replicas)]
    assert_equal(trained(model, tmp_path / "many", batches_of(parts), strategy), expected)


@sampled("strategy", STRATEGIES, check=["mirrored"])
def test_the_numbers_are_those_of_numpy(tmp_path: Path, strategy: str):
    replicas = 3 if "3" in strategy else 2
    slope, losses = line_by_numpy(STEPS)
    parts = [size for step in STEPS for size in split(step, replicas)]
    found, history = trained("function", tmp_path, batches_of(parts), strategy)
    np.testing.assert_allclose(found["slope"], slope, rtol=1e-5)
    np.testing.assert_allclose(history.losses, losses, rtol=1e-5)


LEFT = [(strategy, left) for strategy in STRATEGIES for left in range(1, BATCH)]


@sampled(("strategy", "left"), LEFT, check=[("mirrored", 1), ("mirrored over 3", 5)])
@pytest.mark.parametrize("passes", ["", "-resident_rows"])
def test_rows_in_memory_that_are_left_count_alike(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, strategy: str, left: int, passes: str
):
    monkeypatch.setenv("TFDISTRIBUTE_PASSES", passes)
    found = trained("function", tmp_path / "many", rows(2 * BATCH + left), strategy)
    sizes = [BATCH, BATCH, left]
    assert_equal(found, trained("function", tmp_path / "one", batches_of(sizes)))
    np.testing.assert_allclose(found[0]["slope"], line_by_numpy(sizes)[0], rtol=1e-5)


FEWER = [("mirrored", 1), ("mirrored over 3", 1), ("mirrored over 3", 2), ("central storage", 1)]


@pytest.mark.promise("The same numbers")
@sampled(
    ("model", "strategy", "left"),
    [(model, *each) for model in MODELS for each in FEWER],
    check=[
        *((model, "mirrored over 3", 2) for model in ("function, some weights", "sum", "weighted")),
        *((model, "mirrored", 1) for model in ("function, tape", "deep", "keras sum")),
        ("keras 3 sum", "central storage", 1),
    ],
    versions=[("keras sum", "mirrored", 1), ("function, tape", "mirrored", 1)],
)
def test_a_step_of_fewer_rows_than_replicas_is_the_step_of_one_device(
    tmp_path: Path, model: str, strategy: str, left: int
):
    many = trained(model, tmp_path / "many", rows(2 * BATCH + left), strategy)
    one = trained(model, tmp_path / "one", rows(2 * BATCH + left))
    assert many[1].steps == [1, 2, 3]
    assert_equal(many, one)


@sampled(
    ("make", "left", "strategy"),
    [
        (make, left, strategy)
        for make in (table, generated, stored, transformed)
        for left in (1, 2, 5)
        for strategy in STRATEGIES
    ],
    check=[(make, 2, "mirrored over 3") for make in (table, generated, stored, transformed)],
    versions=[(generated, 2, "mirrored over 3")],
)
def test_every_input_has_the_steps_of_one_device(
    tmp_path: Path, make: Callable[[Path, int], Input], left: int, strategy: str
):
    many = trained("deep", tmp_path / "many", make(tmp_path, 2 * BATCH + left), strategy)
    assert_equal(many, trained("deep", tmp_path / "one", rows(2 * BATCH + left)))


@pytest.mark.parametrize("count", [1, 2])
def test_a_training_may_have_fewer_rows_than_devices(tmp_path: Path, count: int):
    # The first row has the weight 0.
    source = rows(count, first=1)
    many = trained("weighted", tmp_path / "many", source, "mirrored over 3")
    assert_equal(many, trained("weighted", tmp_path / "one", source))


def test_a_step_of_batches_as_small_as_the_others_is_no_step_of_a_loop(
    runs: list[int], tmp_path: Path
):
    columns = {name: values[:200] for name, values in COLUMNS.items()}
    source = inputs.in_memory(columns, batch_size=3, epochs=10, shuffle=False)
    fields = {"steps_per_run": "auto"}
    many = trained("deep", tmp_path / "many", source, "mirrored over 3", **fields)
    assert max(runs) > 1
    assert many[1].last_step == 667
    assert_equal(many, trained("deep", tmp_path / "one", source, **fields))


@sampled("model", ["linear", "deep", "keras", "keras 3"], check=["deep"])
def test_micro_batches_and_replicas_count_by_rows_together(tmp_path: Path, model: str):
    expected = trained(model, tmp_path / "one", batches_of(STEPS))
    parts = [size for step in STEPS for size in split(step, 2)]
    found = trained(model, tmp_path / "many", batches_of(parts), "mirrored", micro_batches=2)
    assert_equal(found, expected)


def test_a_loop_of_many_steps_ends_with_an_uneven_one(runs: list[int], tmp_path: Path):
    fields = {"epochs": 11}
    many = trained(
        "weighted", tmp_path / "m", rows(103, **fields), "mirrored", steps_per_run="auto"
    )
    assert max(runs) > 1
    one = trained("weighted", tmp_path / "one", rows(103, **fields), steps_per_run="auto")
    assert_equal(many, one)


@pytest.mark.parametrize("strategy", ["mirrored", "central storage"])
def test_nothing_is_added_to_steps_that_divide(tmp_path: Path, strategy: str):
    scales: list[Any] = []

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        scale = replica_scale.current()
        assert scale is not None
        scales.append(scale.rows)
        return line("v1")(features, labels, mode)

    def train_on(name: str, source: Input) -> None:
        train(
            custom_models.described(model_fn, tmp_path / name),
            strategies.settings(strategy),
            source,
        )

    train_on("memory", rows(2 * BATCH))
    train_on("dataset", inputs.from_function(lambda: full_batches(drop_remainder=True)))
    assert scales == [None] * 4
    train_on("unknown", inputs.from_function(full_batches))
    assert None not in scales[4:]
