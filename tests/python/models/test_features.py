"""Kinds of features, which are those of the training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models
from support.callbacks import as_model_fn
from support.inputs import Factor, in_memory
from support.strategies import settings

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.models import check_kinds
from tfdistribute.training import predict, train
from tfdistribute.training.model_directory import SIGNATURE, ModelDirectory

TYPES = ("float", "double", "integer", "integer64", "logical", "string", "date", "datetime")
NUMBERS = set(TYPES[:4])


@pytest.mark.parametrize("trained", ["numbers", "logical", "labels", "dates", "times"])
@pytest.mark.parametrize("given", TYPES)
def test_only_numbers_are_alike(trained: str, given: str) -> None:
    own = {"string": "labels", "date": "dates", "datetime": "times"}
    facts = InputFacts({"x": ColumnFacts("x", given)})
    kind = "numbers" if given in NUMBERS else own.get(given, given)
    if kind == trained:
        check_kinds(models.line(), facts, {"x": trained})
        return
    words = "TRUE and FALSE" if trained == "logical" else trained
    with pytest.raises(InputError, match=f'"x" holds .* was trained with {words}') as refused:
        check_kinds(models.line(), facts, {"x": trained})
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("name", "typed", "trained"),
    [("z", True, {"z": "dates"}), ("x", False, {"x": "dates"}), ("x", True, {})],
    ids=["not read", "input without types", "nothing recorded"],
)
def test_what_is_not_known_is_not_compared(name: str, typed: bool, trained: dict[str, str]) -> None:
    facts = InputFacts({name: ColumnFacts(name, "float")}, typed=typed)
    check_kinds(models.line(), facts, trained)


def by_r_function(tf: Any) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        weight = tf.compat.v1.get_variable("w", [])
        output = tf.cast(features["x"], tf.float32) * weight
        fields: dict[str, Any] = {"predictions": {"output": output}}
        if mode != "infer":
            fields = {"loss": tf.reduce_mean((labels - output) ** 2), "optimizer": "SGD"}
        return {"mode": mode, **fields}

    return as_model_fn(model_fn)


@pytest.mark.parametrize("kind", ["canned", "function"])
def test_codes_of_new_data_are_no_numbers(tensorflow: Any, tmp_path: Path, kind: str) -> None:
    numbers = in_memory({"x": np.arange(3.0), "y": np.arange(3.0)})
    factor = in_memory({"x": Factor(np.arange(3), ["0", "1", "2"]), "y": np.arange(3.0)})
    model = (
        models.line(tmp_path)
        if kind == "canned"
        else models.model("custom", tmp_path, model_fn=by_r_function(tensorflow))
    )
    train(model, settings(), numbers)
    for verb in (train, predict):
        with pytest.raises(InputError, match='"x" holds a factor, but the model was trained with'):
            verb(model, settings(), factor)
    # A directory from before kinds were recorded.
    signature = ModelDirectory(str(tmp_path))
    assert signature.kinds == {"x": "numbers"}
    path = tmp_path / SIGNATURE
    path.write_text(path.read_text(encoding="utf-8").replace('"kinds"', '"other"'), "utf-8")
    predict(model, settings(), factor)


def test_a_failed_training_leaves_no_kinds(tmp_path: Path) -> None:
    line = models.line(tmp_path)
    facts = InputFacts({"x": ColumnFacts("x", "date", fill=3.0)})
    ModelDirectory(str(tmp_path)).sign(line.structure(), facts)
    left = ModelDirectory(str(tmp_path))
    assert (left.kinds, left.replacements) == ({}, {})


def test_records_without_types_are_not_compared(tmp_path: Path, tensorflow: Any) -> None:
    path = tmp_path / "a.tfrecord"
    feature = tensorflow.train.Feature
    values = {"x": feature(int64_list=tensorflow.train.Int64List(value=[1]))}
    with tensorflow.io.TFRecordWriter(str(path)) as writer:
        example = tensorflow.train.Example(features=tensorflow.train.Features(feature=values))
        writer.write(example.SerializeToString())
    source = read(Input, {"kind": "tfrecord", "paths": str(path), "columns": {"x": "int64"}})
    assert not source.facts().typed
