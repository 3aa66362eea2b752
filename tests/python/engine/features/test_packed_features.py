"""Packed numeric columns, compared with TensorFlow's columns one by one."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from support.checkpoints import variables

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.inputs import Column, DatasetFunction, InMemory
from tfdistribute.models import Model
from tfdistribute.models.custom import Custom
from tfdistribute.models.optimizers import Optimizer
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, predict
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.preparation import prepare_training
from tfdistribute.training.train import train

ROWS = 48
WORDS = ["a", "b"]
# Sorting by name changes the data's order; two dtypes, with a categorical column in between.
NUMBERS = {"x2": 1, "x10": 1, "x1": 1, "n1": 1, "y y": 1, "m": 2}
# What is subtracted, and by what the rest is divided.
SCALED = {"z1": (0.5, 2.0), "z2": (-1.0, 3.0), "z3": (0.25, 2.0)}
SGD = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.05}}
FTRL = {"kind": "named", "name": "ftrl", "settings": {"learning_rate": 0.05}}


def source(batch_size: int = 8) -> InMemory:
    generator = np.random.default_rng(3)

    def floats(*shape: int) -> Any:
        values = generator.normal(size=(ROWS, *shape)).astype("float32")
        return lambda: values

    words = {"codes": generator.integers(0, 2, ROWS), "labels": np.array(WORDS, dtype=object)}
    return InMemory(
        (
            Column("x2", "float", floats()),
            Column("word", "string", lambda: words),
            Column("x10", "float", floats()),
            Column("unread", "float", floats()),
            Column("n1", "integer", lambda: np.arange(ROWS) % 5),
            Column("x1", "float", floats()),
            Column("m", "float", floats(2), (2,)),
            Column("y y", "float", floats()),
            *(Column(name, "float", floats()) for name in SCALED),
            Column("w", "float", lambda: np.arange(ROWS, dtype="float32") / ROWS),
            Column("target", "float", floats()),
        ),
        response="target",
        batch_size=batch_size,
        shuffle=False,
    )


def unpacked(given: InMemory) -> DatasetFunction:
    """The same data, with one tensor per column."""
    return DatasetFunction(lambda: given.input_fn("train")())


def model(model_dir: Path) -> Any:
    """A model with numeric columns (one also bucketized) and a categorical one."""
    numbers: list[dict[str, Any]] = [
        {"kind": "numeric", "key": key, "shape": [width]} for key, width in NUMBERS.items()
    ]
    numbers += [
        {"kind": "numeric", "key": "z1", "center": [0.5], "scale": [2.0]},
        {"kind": "numeric", "key": "z2", "center": [-1.0], "scale": [3.0]},
        {"kind": "numeric", "key": "z3", "normalizer_fn": scaling(*SCALED["z3"])},
    ]
    word = {
        "kind": "categorical_with_vocabulary_list",
        "key": "word",
        "vocabulary_list": WORDS,
    }
    dense = [
        *numbers,
        {"kind": "bucketized", "source_column": numbers[2], "boundaries": [0.0]},
        {"kind": "indicator", "categorical_column": word},
    ]
    return read(
        Model,
        {
            "kind": "dnn_linear_combined_regressor",
            "model_dir": str(model_dir),
            "weight_column": "w",
            "linear_feature_columns": [*numbers, word],
            "linear_optimizer": FTRL,
            "dnn_feature_columns": dense,
            "dnn_hidden_units": [4],
            "dnn_optimizer": SGD,
        },
    )


def scaling(middle: float, spread: float) -> Any:
    return lambda x: (x - middle) / spread


def by_hand(tf: Any, model_dir: Path) -> Any:
    """The same model in plain TensorFlow."""
    columns = tf.feature_column
    numbers = [columns.numeric_column(_safe(key), width) for key, width in NUMBERS.items()]
    numbers += [
        columns.numeric_column(key, normalizer_fn=scaling(*how)) for key, how in SCALED.items()
    ]
    word = columns.categorical_column_with_vocabulary_list("word", WORDS)
    dense = [
        *numbers,
        columns.bucketized_column(numbers[2], [0.0]),
        columns.indicator_column(word),
    ]
    return tf.estimator.DNNLinearCombinedRegressor(
        model_dir=str(model_dir),
        weight_column="w",
        config=tf.estimator.RunConfig(tf_random_seed=1),
        linear_feature_columns=[*numbers, word],
        linear_optimizer=_optimizer(FTRL),
        dnn_feature_columns=dense,
        dnn_hidden_units=[4],
        dnn_optimizer=_optimizer(SGD),
    )


def _optimizer(described: dict[str, Any]) -> Any:
    return read(Optimizer, described).factory(None)


def _safe(name: str) -> str:
    return name.replace(" ", "_")


def by_hand_input(given: InMemory) -> Any:
    def renamed(features: Any, label: Any) -> Any:
        return {_safe(name): value for name, value in features.items()}, label

    return lambda: given.input_fn("train")().map(renamed)


def assert_same(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    assert sorted(first) == sorted(second)
    for name, value in first.items():
        np.testing.assert_allclose(value, second[name], rtol=2e-5, atol=1e-6, err_msg=name)


SETTINGS = RunSettings(seed=1, steps_per_run=1)
MANY_STEPS = RunSettings(seed=1, steps_per_run=100)


def test_training_continues_with_columns_packed_or_one_by_one(
    tensorflow: Any, tmp_path: Path
) -> None:
    given = source()
    ours, plain = tmp_path / "ours", tmp_path / "plain"
    # Both continue at the first row.
    train(model(ours), SETTINGS, given, steps=6)
    shutil.copytree(ours, plain)
    by_hand(tensorflow, plain).train(by_hand_input(given), steps=3)
    train(model(ours), SETTINGS, given, steps=3)
    assert_same(variables(ours), variables(plain))
    # In reverse: a model trained by TensorFlow predicts the same here.
    expected = [
        each["predictions"] for each in by_hand(tensorflow, plain).predict(by_hand_input(given))
    ]
    found = concatenate(predict(model(plain), SETTINGS, given))["predictions"]
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-5, atol=1e-6)


def test_data_that_comes_column_by_column_trains_the_same_model(
    tensorflow: Any, runs: list[int], tmp_path: Path
) -> None:
    given = source()
    one, other = tmp_path / "one", tmp_path / "other"
    train(model(one), SETTINGS, given, steps=6)
    shutil.copytree(one, other)
    train(model(one), MANY_STEPS, given, steps=4)
    assert runs == [2]
    train(model(other), SETTINGS, unpacked(given), steps=4)
    assert runs == [2]
    assert_same(variables(one), variables(other))


def test_an_export_reads_the_features_by_name(tensorflow: Any, tmp_path: Path) -> None:
    given = source()
    described = model(tmp_path / "m")
    train(described, SETTINGS, given, steps=2)
    expected = concatenate(predict(described, SETTINGS, given))["predictions"]
    path = export_savedmodel(described, SETTINGS, str(tmp_path / "export"), request=given)
    signature = tensorflow.saved_model.load(path).signatures["predict"]
    features = next(iter(given.input_fn("predict")()))
    read_by_model = {name: features[name] for name in [*NUMBERS, *SCALED, "word"]}
    assert set(signature.structured_input_signature[1]) == set(read_by_model)
    found = signature(**read_by_model)
    np.testing.assert_allclose(found["predictions"], expected[:8], rtol=1e-5, atol=1e-6)


def operations_of_a_step(
    tf: Any, kind: str, columns: Mapping[str, int], directory: Path, scaled: bool = False
) -> int:
    """Number of operations in a training step, excluding the input."""
    shapes = {name: () if width == 1 else (width,) for name, width in columns.items()}
    values = [
        Column(name, "float", lambda shape=shape: np.ones((16, *shape)), shape)
        for name, shape in [*shapes.items(), ("target", ())]
    ]
    given = InMemory(tuple(values), response="target")
    keys: list[dict[str, Any]] = [
        {"kind": "numeric", "key": name, "shape": [width]} for name, width in columns.items()
    ]
    for index, key in enumerate(keys if scaled else []):
        key |= {"center": [index], "scale": [index + 1]}
    fields: dict[str, Any] = {"feature_columns": keys, "optimizer": SGD}
    if kind == "dnn_regressor":
        fields["hidden_units"] = [4]
    described = read(Model, {"kind": kind, "model_dir": str(directory), **fields})
    estimator = prepare_training("train", described, SETTINGS, given).estimator
    with tf.Graph().as_default():
        tf.compat.v1.train.create_global_step()
        dataset = given.input_fn("train", packed=True)().as_dataset()
        batch = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
        spec = estimator._call_model_fn(*batch, "train", estimator.config)
        found: set[Any] = set()
        waiting = [spec.train_op]
        while waiting:
            operation = waiting.pop()
            if operation not in found and operation.type != "IteratorGetNext":
                found.add(operation)
                waiting += [*operation.control_inputs, *(each.op for each in operation.inputs)]
    return len(found)


WIDE = {"x": 20}
NARROW = {f"x{index}": 1 for index in range(20)}


def test_more_numeric_columns_add_no_operations(tensorflow: Any, tmp_path: Path) -> None:
    wide = operations_of_a_step(tensorflow, "dnn_regressor", WIDE, tmp_path / "wide")
    narrow = operations_of_a_step(tensorflow, "dnn_regressor", NARROW, tmp_path / "narrow")
    assert narrow <= wide + 1


def test_centers_and_scales_cost_twenty_columns_what_they_cost_one(
    tensorflow: Any, tmp_path: Path
) -> None:
    wide = operations_of_a_step(tensorflow, "dnn_regressor", WIDE, tmp_path / "w", scaled=True)
    narrow = operations_of_a_step(tensorflow, "dnn_regressor", NARROW, tmp_path / "n", scaled=True)
    assert narrow <= wide + 1


def test_twenty_columns_cost_a_linear_model_what_their_variables_cost(
    tensorflow: Any, tmp_path: Path
) -> None:
    wide = operations_of_a_step(tensorflow, "linear_regressor", WIDE, tmp_path / "wide")
    narrow = operations_of_a_step(tensorflow, "linear_regressor", NARROW, tmp_path / "narrow")
    # Per column: the variable, its value, and its slice of the gradient.
    assert narrow <= wide + 20 * 6


def test_a_model_function_gets_the_columns_in_the_order_of_the_data(
    tensorflow: Any, tmp_path: Path
) -> None:
    tf, seen = tensorflow, dict[str, Any]()

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        # R converts only a plain dict to a list of tensors.
        assert type(features) is dict
        seen.update(features)
        weight = tf.compat.v1.get_variable("weight", initializer=0.0)
        sums = tf.add_n([tf.cast(features[name], tf.float32) for name in ("x10", "n1", "x2")])
        if mode == "infer":
            return {"predictions": sums}
        loss = tf.reduce_mean((labels - weight * sums) ** 2)
        return {"loss": loss, "optimizer": SGD, "predictions": sums}

    given = source()
    described = Custom(str(tmp_path / "m"), model_fn)
    train(described, SETTINGS, given, steps=1)
    assert list(seen) == ["x2", "word", "x10", "unread", "n1", "x1", "m", "y y", *SCALED, "w"]
    assert {name: (each.dtype.name, each.shape.rank) for name, each in seen.items()} == {
        **dict.fromkeys([*SCALED, "x2", "x10", "unread", "x1", "y y", "w"], ("float32", 1)),
        "word": ("string", 1),
        "n1": ("int32", 1),
        "m": ("float32", 2),
    }
    rows = [next(iter(given.input_fn("train")()))[0]]
    expected = np.concatenate([row["x10"] + row["x2"] + np.float32(row["n1"]) for row in rows])
    found = concatenate(predict(described, SETTINGS, given))["output"]
    np.testing.assert_allclose(found[:8], expected, rtol=1e-6, atol=1e-6)


def test_missing_numbers_stay_in_their_own_column(tensorflow: Any) -> None:
    tf = tensorflow
    matrix = tf.constant([[1.0, np.nan, 3.0, 4.0, np.inf, 6.0, 7.0, 8.0, 9.0]])
    names = [f"x{index}" for index in range(9)]
    slices = {
        name: engine.features.packed_features.ColumnSlice(0, index)
        for index, name in enumerate(names)
    }
    features = engine.features.packed_features.Features.unpack(
        engine.features.packed_features.pack(names, slices, [matrix], {})
    )
    for wanted in ([0, 2], [3, 2, 5], [8, 0, 7, 2, 5, 3], list(range(9))):
        found = features.as_matrix([names[index] for index in wanted])
        np.testing.assert_array_equal(found, matrix.numpy()[:, wanted])
    assert features.as_matrix(["x1", "not there"]) is None
