"""Contract of all inputs."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import importlib
import inspect
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistribute import engine
from tfdistribute.columns import InputFacts
from tfdistribute.descriptions import read
from tfdistribute.inputs import Column, Input, write_packed
from tfdistribute.inputs.functions.serialized_dataset import serialize
from tfdistribute.inputs.packed.packing import pack
from tfdistribute.inputs.records.tfrecord import write_tfrecord

X = np.arange(6.0)

pytestmark = pytest.mark.usefixtures("tensorflow")


def _columns(by_function: bool) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "type": "float",
            "values": (lambda values=values: values) if by_function else values,
        }
        for name, values in (("x", X), ("y", 2 * X))
    ]


def _in_memory() -> dict[str, Any]:
    return {"columns": _columns(by_function=True), "response": "y", "batch_size": 6}


def _mapped() -> dict[str, Any]:
    directory = f"{tempfile.mkdtemp(dir=_folder())}/data"
    write_packed(_typed_columns(), directory)
    return {"directory": directory, "response": "y", "batch_size": 6}


def _dataset_function() -> dict[str, Any]:
    def dataset() -> Any:
        import tensorflow as tf

        return tf.data.Dataset.from_tensors(({"x": X}, 2 * X))

    return {"function": dataset}


def _serialized_dataset() -> dict[str, Any]:
    dataset = engine.tf.data.Dataset.from_tensors({"x": X, "y": 2 * X, "other": X})
    return {"graph": serialize(dataset, ("x",), "y"), "features": ("x",), "response": "y"}


def _generator() -> dict[str, Any]:
    batches: list[Any] = []

    def begin() -> bool:
        batches[:] = [{"columns": _columns(by_function=False)}, None]
        return True

    return {"begin": begin, "next_batch": lambda: batches.pop(0), "response": "y"}


def _csv() -> dict[str, Any]:
    path = Path(tempfile.mkdtemp(dir=_folder())) / "data.csv"
    rows = "".join(f"{value},{2 * value}\n" for value in X)
    path.write_text("x,y\n" + rows, encoding="utf-8")
    return _from_file(path)


def _parquet() -> dict[str, Any]:
    return _from_table("pyarrow.parquet", "write_table")


def _arrow() -> dict[str, Any]:
    return _from_table("pyarrow.feather", "write_feather")


def _from_table(module: str, function: str) -> dict[str, Any]:
    pyarrow = pytest.importorskip("pyarrow")
    path = Path(tempfile.mkdtemp(dir=_folder())) / "data"
    getattr(importlib.import_module(module), function)(pyarrow.table({"x": X, "y": 2 * X}), path)
    return _from_file(path)


def _from_file(path: Path) -> dict[str, Any]:
    return {"paths": str(path), "response": "y", "batch_size": 6}


@functools.cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="shared-")
    atexit.register(shutil.rmtree, folder)
    return folder


def _tfrecord() -> dict[str, Any]:
    directory = tempfile.mkdtemp(dir=_folder())
    write_tfrecord(pack(_typed_columns()), f"{directory}/data", 2)
    return {"paths": [f"{directory}/data"], "response": "y", "batch_size": 6}


def _transformed() -> dict[str, Any]:
    weights = {"name": "w", "type": "float", "values": lambda: X}
    columns = [*_columns(by_function=True), weights]
    source = {"kind": "in_memory", "columns": columns, "response": "y", "batch_size": 6}
    return {"source": source, "weights": "w", "transform": lambda features: dict(features)}


def _typed_columns() -> list[Column]:
    return [read(Column, fields) for fields in _columns(by_function=True)]


EXAMPLES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "in_memory": _in_memory,
    "mapped": _mapped,
    "dataset_function": _dataset_function,
    "serialized_dataset": _serialized_dataset,
    "generator": _generator,
    "tfrecord": _tfrecord,
    "csv": _csv,
    "parquet": _parquet,
    "arrow": _arrow,
    "transformed": _transformed,
}


def example(kind: str) -> Input:
    return read(Input, {"kind": kind, **EXAMPLES[kind]()})


def first_of(tf: Any, source: Input, purpose: Any) -> Any:
    """The first batch, read in a graph while the input is serving, as an Estimator does."""
    with tf.Graph().as_default(), source.serving():
        dataset = source.input_fn(purpose, 1)()
        iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        with tf.compat.v1.Session() as session:
            session.run(iterator.initializer)
            return session.run(element)


def test_every_input_has_an_example():
    assert set(EXAMPLES) == set(Input.kinds)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_input_is_a_frozen_value(kind: str):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(example(kind), "kind", "other")  # noqa: B010


@pytest.mark.parametrize("kind", EXAMPLES)
def test_facts_are_those_of_the_data(kind: str):
    facts = example(kind).facts()
    assert isinstance(facts, InputFacts)
    assert (facts.weights is not None) == (kind == "transformed")
    if facts.features is not None:
        assert list(facts.features) == ["x"]
        assert facts.label is not None
        assert facts.label.name == "y"


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_function_takes_the_input_context_and_nothing_else(kind: str):
    """TensorFlow passes the context only to a parameter of this name."""
    (parameter,) = inspect.signature(example(kind).input_fn("train", 1)).parameters.values()
    assert parameter.name == "input_context"
    assert parameter.default is None


@pytest.mark.smoke
@pytest.mark.parametrize("kind", EXAMPLES)
def test_training_yields_features_by_name_and_labels(kind: str, tensorflow: Any):
    features, labels = first_of(tensorflow, example(kind), "train")
    assert list(features) == (["x", "w"] if kind == "transformed" else ["x"])
    assert sorted(features["x"].tolist()) == X.tolist()
    assert labels.tolist() == (2 * features["x"]).tolist()


@pytest.mark.smoke
@pytest.mark.parametrize("kind", EXAMPLES)
def test_evaluating_and_predicting_keep_the_order(kind: str, tensorflow: Any):
    features, _ = first_of(tensorflow, example(kind), "evaluate")
    assert features["x"].tolist() == X.tolist()
    predicted = first_of(tensorflow, example(kind), "predict")
    if kind != "dataset_function":
        assert list(predicted) == list(features)
        assert predicted["x"].tolist() == X.tolist()


@pytest.mark.parametrize("kind", sorted(set(EXAMPLES) - {"dataset_function"}))
def test_large_batches_have_the_same_rows_in_the_same_order(kind: str, tensorflow: Any):
    values = EXAMPLES[kind]()
    if "batch_size" in values:
        values["batch_size"] = 4
    source = read(Input, {"kind": kind, **values})
    assert first_of(tensorflow, source.in_large_batches(), "predict")["x"].tolist() == X.tolist()
    # Only the copy has large batches.
    own = len(first_of(tensorflow, source, "predict")["x"])
    assert own == values.get("batch_size", len(X))


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_same_input_serves_a_second_time(kind: str, tensorflow: Any):
    source = example(kind)
    first, _ = first_of(tensorflow, source, "train")
    second, _ = first_of(tensorflow, source, "train")
    assert first["x"].tolist() == second["x"].tolist()


@pytest.mark.parametrize("kind", EXAMPLES)
def test_no_thread_that_tunes_the_input_delays_the_end_of_a_session(kind: str, tensorflow: Any):
    source = example(kind)
    with tensorflow.Graph().as_default(), source.serving():
        options = source.input_fn("train", 1)().options()
    # A user's own dataset stays as it is.
    own = kind in ("dataset_function", "serialized_dataset")
    assert options.autotune.enabled is (None if own else False)
