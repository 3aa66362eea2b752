"""Exports, loaded by TensorFlow alone and compared with predict()."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import Factor, in_memory
from support.sampling import sampled

from tfdistribute.bridge import call
from tfdistribute.descriptions import read
from tfdistribute.errors import (
    ArgumentError,
    InputError,
    ModelDirectoryError,
    ModelError,
    UnsupportedError,
)
from tfdistribute.inputs import Input
from tfdistribute.models import FeatureColumn, Model, examples_receiver
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, predict
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.train import train

ROWS = 24
random = np.random.default_rng(3)
COLOURS = ["red", "green", "blue"]
DATA: dict[str, Any] = {
    "petal length": random.normal(size=ROWS).astype("float32"),
    "colour": random.integers(0, 3, size=ROWS),
    "hour": random.integers(0, 6, size=ROWS).astype("int32"),
    "day": random.integers(0, 7, size=ROWS).astype("int32"),
}
NUMBER = (DATA["petal length"] + DATA["colour"] - DATA["hour"] / 3).astype("float32")
CLASS = DATA["colour"].astype("int32")

LENGTH = {"kind": "numeric", "key": "petal length"}
COLOUR = {"kind": "categorical_with_vocabulary_list", "key": "colour", "vocabulary_list": COLOURS}
HOUR = {"kind": "categorical_with_identity", "key": "hour", "num_buckets": 6}
# Whole numbers crossed by name: TensorFlow parses them as strings.
WHEN = {"kind": "crossed", "keys": ["hour", "day"], "hash_bucket_size": 50}
WIDE = [
    COLOUR,
    HOUR,
    {"kind": "bucketized", "source_column": {"kind": "numeric", "key": "hour"}, "boundaries": [3]},
    WHEN,
    # A column among names: its categories are sparse, and a cross puts sparse tensors first.
    {"kind": "crossed", "keys": ["colour", HOUR], "hash_bucket_size": 20, "hash_key": 7},
    {"kind": "bucketized", "source_column": LENGTH, "boundaries": [-0.5, 0.5]},
]
DEEP = [
    LENGTH,
    {"kind": "indicator", "categorical_column": COLOUR},
    {"kind": "embedding", "categorical_column": WHEN, "dimension": 3},
]
SGD = {"kind": "named", "name": "SGD", "settings": {"learning_rate": 0.1}}

MODELS: dict[str, dict[str, Any]] = {
    "linear": {"kind": "linear_regressor", "feature_columns": WIDE, "optimizer": SGD},
    "deep": {
        "kind": "dnn_classifier",
        "feature_columns": DEEP,
        "hidden_units": [4],
        "n_classes": 3,
        "optimizer": SGD,
    },
    "wide and deep": {
        "kind": "dnn_linear_combined_classifier",
        "linear_feature_columns": WIDE,
        "dnn_feature_columns": DEEP,
        "dnn_hidden_units": [4],
        "n_classes": 3,
        "label_vocabulary": COLOURS,
        "linear_optimizer": SGD,
        "dnn_optimizer": SGD,
    },
    "baseline": {"kind": "baseline_classifier", "n_classes": 3, "optimizer": SGD},
}


def source(name: str = "linear", leave_out: str = "", label: bool = True) -> Input:
    colours = Factor(DATA["colour"], COLOURS)
    columns = {**DATA, "colour": colours}
    columns.pop(leave_out, None)
    if label:
        columns["y"] = {"linear": NUMBER, "wide and deep": colours}.get(name, CLASS)
    return in_memory(columns, "y" if label else None, batch_size=8)


def described(name: str, folder: Path, **fields: Any) -> Model:
    return read(Model, {**MODELS[name], "model_dir": str(folder / "model"), **fields})


@pytest.fixture(scope="module")
def trained_once(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Train each model once and return the folder that holds it."""
    known: dict[str, Path] = {}

    def folder_of(name: str, **fields: Any) -> Path:
        key = f"{name} {fields}"
        if key not in known:
            known[key] = tmp_path_factory.mktemp("trained")
            train(described(name, known[key], **fields), RunSettings(), source(name), steps=3)
        return known[key]

    return folder_of


@pytest.fixture
def trained(trained_once: Callable[..., Path], tmp_path: Path) -> Callable[..., Model]:
    """Return a trained model that belongs to the test."""

    def make(name: str = "linear", **fields: Any) -> Model:
        shutil.copytree(trained_once(name, **fields), tmp_path, dirs_exist_ok=True)
        return described(name, tmp_path, **fields)

    return make


def predictions(model: Model, name: str = "linear") -> dict[str, Any]:
    return concatenate(predict(model, RunSettings(), source(name)))


def examples(tf: Any) -> Any:
    """The rows as hand-made serialised tf.train.Example messages."""
    messages = []
    for row in range(ROWS):
        example = tf.train.Example()
        features = example.features.feature
        features["petal length"].float_list.value.append(DATA["petal length"][row])
        features["colour"].bytes_list.value.append(COLOURS[DATA["colour"][row]].encode())
        features["hour"].int64_list.value.append(DATA["hour"][row])
        features["day"].int64_list.value.append(DATA["day"][row])
        messages.append(example.SerializeToString())
    return tf.constant(messages)


def tensors(tf: Any) -> dict[str, Any]:
    words = np.array(COLOURS)[DATA["colour"]]
    return {name: tf.constant(values) for name, values in {**DATA, "colour": words}.items()}


def answers(tf: Any, path: str, signature: str = "predict", **request: Any) -> dict[str, Any]:
    outputs = tf.saved_model.load(path).signatures[signature](**request)
    return {name: value.numpy() for name, value in outputs.items()}


def same(answer: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert answer.keys() == expected.keys()
    for name, values in answer.items():
        wanted = expected[name]
        if values.dtype == object:
            decoded = [each.decode() for each in values.ravel()]
            assert decoded == [str(each) for each in np.ravel(wanted)], name
        else:
            np.testing.assert_allclose(values, wanted, rtol=1e-6, atol=1e-7, err_msg=name)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@sampled("name", MODELS, check=["wide and deep"])
def test_examples_give_the_numbers_of_predict(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path, name: str
) -> None:
    model = trained(name)
    path = export_savedmodel(model, RunSettings(), str(tmp_path / "export"))
    assert path == str(tmp_path / "export")
    same(answers(tensorflow, path, examples=examples(tensorflow)), predictions(model, name))


@sampled("name", MODELS, check=["deep", "baseline"], versions=["deep"])
def test_tensors_by_name_give_the_numbers_of_predict(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path, name: str
) -> None:
    model = trained(name)
    fields = {"request": source(name), "as_text": True}
    path = export_savedmodel(model, RunSettings(), str(tmp_path / "export"), **fields)
    assert "saved_model.pbtxt" in os.listdir(path)
    for signature in ("predict", "serving_default"):
        answer = answers(tensorflow, path, signature, **tensors(tensorflow))
        same(answer, predictions(model, name))


def test_a_request_of_tensors_holds_only_what_the_model_reads(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    model = trained("linear", feature_columns=[LENGTH], weight_column="hour")
    path = export_savedmodel(model, RunSettings(), str(tmp_path / "export"), request=source())
    answer = answers(tensorflow, path, **{"petal length": tensors(tensorflow)["petal length"]})
    same(answer, predictions(model))


def test_columns_say_what_examples_hold(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    model = trained("linear", feature_columns=[LENGTH])
    columns = [read(FeatureColumn, column) for column in (LENGTH, COLOUR)]
    path = export_savedmodel(model, RunSettings(), str(tmp_path / "export"), request=columns)
    same(answers(tensorflow, path, examples=examples(tensorflow)), predictions(model))


def test_a_function_says_what_a_request_holds(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    model = trained("linear", feature_columns=[LENGTH])

    def receiver() -> Any:
        doubled = tensorflow.compat.v1.placeholder(tensorflow.float32, [None])
        export = tensorflow.estimator.export
        return export.ServingInputReceiver({"petal length": doubled / 2}, {"doubled": doubled})

    fields = {"kind": "linear_regressor", "feature_columns": [LENGTH], "optimizer": SGD}
    answer = call(
        "export_savedmodel",
        {
            "estimator": {**fields, "model_dir": model.model_dir},
            "export_dir_base": str(tmp_path / "export"),
            # As R passes functions.
            "serving_input_receiver_fn": {"call": lambda: {"value": receiver()}, "formals": []},
        },
    )
    request = {"doubled": 2 * tensors(tensorflow)["petal length"]}
    same(answers(tensorflow, answer["value"], **request), predictions(model))


def test_versions_are_kept_apart_also_within_one_second(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    model, base = trained("linear", feature_columns=[LENGTH]), tmp_path / "exports"
    paths = [export_savedmodel(model, RunSettings(), str(base), versioned=True) for _ in range(3)]
    assert [Path(path).parent for path in paths] == [base] * 3
    versions = [int(Path(path).name) for path in paths]
    assert sorted(set(versions)) == versions
    assert sorted(os.listdir(base)) == sorted(map(str, versions))


def test_an_export_is_replaced_with_all_its_files_or_kept(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    model, target = trained("linear", feature_columns=[LENGTH]), tmp_path / "export"
    note = tmp_path / "note.txt"
    note.write_text("first", encoding="utf-8")
    assets = {"notes/note.txt": str(note)}
    export_savedmodel(model, RunSettings(), str(target), assets_extra=assets)
    assert (target / "assets.extra" / "notes" / "note.txt").read_text(encoding="utf-8") == "first"
    before = files(tmp_path)
    with pytest.raises(ModelDirectoryError, match="exists already"):
        export_savedmodel(model, RunSettings(), str(target), overwrite=False)
    assert files(tmp_path) == before
    export_savedmodel(model, RunSettings(), str(target))
    assert not (target / "assets.extra").exists()


@pytest.mark.parametrize("name", ["_x", "% fat", " lead", "-a", "9", "µ"])
def test_a_feature_of_any_name_is_a_tensor_of_the_request(
    tensorflow: Any, tmp_path: Path, name: str
) -> None:
    values = np.arange(4, dtype="float32")
    source = in_memory({name: values, "y": 2 * values}, batch_size=4)
    fields = {
        "model_dir": str(tmp_path / "m"),
        "feature_columns": [{"kind": "numeric", "key": name}],
    }
    model = read(Model, {"kind": "linear_regressor", **fields})
    train(model, RunSettings(), source, steps=2)
    path = export_savedmodel(model, RunSettings(), str(tmp_path / "export"), request=source)
    served = tensorflow.saved_model.load(path).signatures["predict"]
    expected = concatenate(predict(model, RunSettings(), source))["predictions"]
    found = served(**{name: tensorflow.constant(values)})["predictions"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_failed_export_leaves_what_was_there_and_nothing_new(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    model = trained("linear", feature_columns=[LENGTH])
    export_savedmodel(model, RunSettings(), str(tmp_path / "export"))
    before = files(tmp_path)

    def fails() -> Any:
        raise ModelError("No.", "Yes.")

    for target, versioned in (("export", False), ("new/deep/export", False), ("new/base", True)):
        with pytest.raises(ModelError, match=r"No\."):
            export_savedmodel(
                model,
                RunSettings(),
                str(tmp_path / target),
                request=fails,
                versioned=versioned,
            )
        assert files(tmp_path) == before


def test_what_is_no_export_is_never_replaced(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    model = trained("linear", feature_columns=[LENGTH])
    documents = tmp_path / "documents"
    documents.mkdir()
    export_savedmodel(model, RunSettings(), str(documents / ".." / "documents"))
    (documents / "saved_model.pb").rename(documents / "thesis.txt")
    with pytest.raises(ModelDirectoryError, match="other files than an export"):
        export_savedmodel(model, RunSettings(), str(documents))
    assert (documents / "thesis.txt").exists()
    for versioned in (False, True):
        with pytest.raises(ModelDirectoryError, match="is a file"):
            export_savedmodel(
                model, RunSettings(), str(documents / "thesis.txt"), versioned=versioned
            )


def test_what_cannot_be_exported_is_refused_before_anything_is_written(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    untrained = described("deep", tmp_path / "untrained")
    with pytest.raises(ModelDirectoryError, match="needs a trained model"):
        export_savedmodel(untrained, RunSettings(), str(tmp_path / "export"))
    model = trained("linear")
    target = str(tmp_path / "export")
    with pytest.raises(ArgumentError, match="which is not a file"):
        export_savedmodel(model, RunSettings(), target, assets_extra={"a": str(tmp_path)})
    with pytest.raises(ArgumentError, match="outside of the export"):
        export_savedmodel(model, RunSettings(), target, assets_extra={"../a": __file__})
    with pytest.raises(InputError, match='"day".* is not in the input'):
        export_savedmodel(model, RunSettings(), target, request=source(leave_out="day"))
    unknown = read(Input, {"kind": "dataset_function", "function": lambda: None})
    with pytest.raises(UnsupportedError, match="the features of a request are not known"):
        export_savedmodel(model, RunSettings(), target, request=unknown)
    assert not os.path.exists(target)


def test_a_feature_that_one_example_cannot_hold_twice_is_refused(tensorflow: Any) -> None:
    words = {**COLOUR, "key": "hour"}
    columns = [read(FeatureColumn, {"kind": "numeric", "key": "hour"}), read(FeatureColumn, words)]
    with pytest.raises(ModelError, match='read the feature "hour" in two ways'):
        examples_receiver(columns)


def test_the_engine_leaves_classification_to_examples(
    tensorflow: Any, trained: Callable[..., Model], tmp_path: Path
) -> None:
    path = export_savedmodel(trained("deep"), RunSettings(), str(tmp_path / "export"))
    classes = answers(tensorflow, path, "serving_default", inputs=examples(tensorflow))
    assert classes.keys() == {"classes", "scores"}


def test_models_without_feature_columns_take_the_tensors_of_their_training(
    tensorflow: Any, tmp_path: Path
) -> None:
    keras = tensorflow.keras

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        words = tensorflow.strings.to_hash_bucket_fast(features["colour"], 5)
        columns = [features["petal length"], tensorflow.cast(words, tensorflow.float32)]
        inputs = tensorflow.stack(columns, axis=1)
        outputs = keras.layers.Dense(1)(inputs)[:, 0]
        loss = None if mode == "infer" else tensorflow.reduce_mean((outputs - labels) ** 2)
        optimizer = {"kind": "named", "name": "SGD", "settings": {"learning_rate": 0.01}}
        return {"predictions": {"estimate": outputs}, "loss": loss, "optimizer": optimizer}

    def made() -> Any:
        model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,), name="out")])
        model.compile(keras.optimizers.legacy.SGD(0.01), "mse")
        return model

    numbers = [name for name in DATA if name != "colour"]
    columns = [
        {"name": name, "type": "float", "values": lambda name=name: DATA[name].astype("float32")}
        for name in numbers
    ]
    label = {"name": "y", "type": "float", "values": lambda: NUMBER}
    fields = {"kind": "in_memory", "columns": [*columns, label], "response": "y", "batch_size": 8}
    floats = {name: tensorflow.constant(DATA[name], tensorflow.float32) for name in numbers}
    cases = [
        ({"kind": "custom", "model_fn": model_fn}, source(), tensors(tensorflow)),
        ({"kind": "keras", "function": made}, read(Input, fields), floats),
    ]
    for described_as, data, request in cases:
        folder = tmp_path / described_as["kind"]
        model = read(Model, {**described_as, "model_dir": str(folder / "model")})
        train(model, RunSettings(), data, steps=2)
        path = export_savedmodel(model, RunSettings(), str(folder / "export"))
        same(
            answers(tensorflow, path, "serving_default", **request),
            concatenate(predict(model, RunSettings(), data)),
        )
