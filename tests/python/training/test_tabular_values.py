"""Kinds of values that a tabular model reads, from every kind of table, and from the models that it is converted to."""

from __future__ import annotations

import importlib.util
import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.converted_models import tensors, values
from support.inputs import Factor, in_memory
from support.models import model
from support.onnx_runtime import computed
from support.sampling import sampled
from support.tabular import SEED, write_table

from tfdistribute.columns import ColumnFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.models.canned.table import Number
from tfdistribute.run_config import RunSettings
from tfdistribute.storage.buckets import arrow_module
from tfdistribute.training import as_keras_model, concatenate, export_savedmodel, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

RANDOM = np.random.default_rng(8)
ROWS = 240
needs_ydf = pytest.mark.skipif(importlib.util.find_spec("ydf") is None, reason="needs ydf")
SMALL: dict[str, Any] = {"hidden_units": [32, 32], "batch_size": 60, "epochs": 60, "dropout": 0}
# Kinds of models that read tables, with settings for few rows.
KINDS: dict[str, dict[str, Any]] = {
    "tabular_regressor": {"parts": ["linear"]},
    "boosted_trees_regressor": {"learning_rate": 0.3, "min_node_weight": 1, "validation": 0},
}
SOURCES = ["data frame", "parquet", "arrow", "csv"]
FILL = 9.97e36
NUMBER = RANDOM.normal(size=ROWS)


@dataclass(frozen=True)
class Case:
    """A feature, the response of its values, and new values with the response that is right for each."""

    feature: list[Any]
    response: Any
    new: list[Any]
    wanted: list[float]


def of_labels(means: dict[Any, float], **others: float) -> Case:
    labels = [*means] * (ROWS // len(means))
    new = [*means, *others]
    return Case(
        labels, np.array([means[each] for each in labels]), new, [*means.values(), *others.values()]
    )


def of_fills(fills: int) -> Case:
    feature = np.where(np.arange(ROWS) < fills, FILL, NUMBER)
    known = [-1.0, 0.0, 1.0]
    return Case(feature.tolist(), np.where(feature < FILL, NUMBER, -4.0), known, known)


CASES = {
    # Namibia is a label, and None is missing.
    "labels": of_labels({"US": 0, "ZA": 10, "NA": 20, None: -20}),
    "many labels": of_labels({**{f"C{each}": each for each in range(18)}, "NA": 40, None: -20}),
    "TRUE and FALSE": of_labels({True: 0, False: 10}),
    "TRUE, FALSE and missing": of_labels({True: 0, False: 10, None: 20}),
    "fill values": of_fills(20),
}


def source_of(kind: str, directory: Path, feature: list[Any], response: Any = None) -> Input:
    """Describe a feature `x` and a response `y` as R sends them, or write them into a file."""
    named = {} if response is None else {"response": "y"}
    if kind != "data frame":
        # An empty line of CSV would be no row.
        columns = {"row": range(len(feature)), "x": feature}
        columns |= {} if response is None else {"y": response}
        path = write_table(
            arrow_module("pyarrow").table(columns), kind, directory, f"{len(feature)} rows"
        )
        return read(
            Input, {"kind": kind, "paths": [path], "features": ["x"], "shuffle": False, **named}
        )
    held: Any = np.array(feature, "float64" if isinstance(feature[0], float) else "object")
    if held.dtype == object:
        held = coded(["" if each is None else str(each).upper() for each in feature])
    columns = {"x": held, **({} if response is None else {"y": response})}
    return in_memory(columns, "y" if named else None, shuffle=False)


def coded(labels: list[str]) -> Factor:
    levels = ["FALSE", "TRUE", ""] if "TRUE" in labels else sorted({*labels})
    return Factor(np.array([levels.index(each) for each in labels], "int32"), levels)


def predicted(described: Any, source: Input) -> Any:
    return concatenate(predict(described, RunSettings(), source))["predictions"][:, 0]


@pytest.mark.slow
@sampled(
    ("kind_of_model", "name"),
    itertools.product(KINDS, CASES),
    check=[
        *itertools.product(["tabular_regressor"], CASES),
        *itertools.product(["boosted_trees_regressor"], ["labels", "fill values"]),
    ],
)
def test_each_source_trains_and_predicts_the_same(
    tensorflow: Any, tmp_path: Path, name: str, kind_of_model: str
) -> None:
    if kind_of_model == "boosted_trees_regressor":
        pytest.importorskip("ydf")
    case, found = CASES[name], dict[str, Any]()
    # A line through fill values tells other rows nothing.
    bends = (kind_of_model, name) == ("tabular_regressor", "fill values")
    settings = SMALL if bends else KINDS[kind_of_model]
    for kind in SOURCES:
        described = model(kind_of_model, tmp_path / kind, **settings)
        train(described, SEED, source_of(kind, tmp_path, case.feature, case.response))
        for other in SOURCES if kind == "data frame" else [kind]:
            new = source_of(other, tmp_path, case.new)
            found[f"{kind}, {other}"] = predicted(described, new)
    spread = np.ptp(case.wanted)
    for each, values_of in found.items():
        np.testing.assert_allclose(values_of, case.wanted, atol=0.1 * spread, err_msg=each)
        first = found["data frame, data frame"]
        np.testing.assert_allclose(values_of, first, rtol=1e-4, atol=1e-5 * spread, err_msg=each)


FARTHEST = [1e5, 1e19, 1e20, FILL, np.inf]
LABELS = ["US", "ZA", "NA", ""]
RESPONSE = {"US": 0, "ZA": 10, "NA": 20, "": -20}


def far_rows() -> dict[str, Any]:
    far = [*FARTHEST, *(-each for each in FARTHEST)]
    return {
        "x": coded([*LABELS, "new", *["US"] * (len(far) + 1)]),
        "n": np.array([*[0.0] * 5, np.nan, *far], "float32"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("part", ["linear", "layers"])
def test_converted_models_read_the_same_values(tensorflow: Any, tmp_path: Path, part: str) -> None:
    labels = LABELS * (ROWS // 4)
    response = np.array([RESPONSE[each] for each in labels]) + NUMBER
    described = model("tabular_regressor", tmp_path, **{**SMALL, "epochs": None, "parts": [part]})
    train(described, SEED, in_memory({"x": coded(labels), "n": NUMBER, "y": response}))
    data = far_rows()
    found = predicted(described, in_memory(data, None))
    assert found[3] < found[0] < found[1] < found[2]
    # A new label is a missing one, and a far number is one that is a little less far.
    assert found[4] == found[3]
    assert found[-1] < found[0] < found[6]
    np.testing.assert_array_equal(found[6:], np.repeat(found[[6, -1]], len(FARTHEST)))
    converted = as_keras_model(described)
    by_keras = converted(tensors(tensorflow, converted.input, data))
    np.testing.assert_allclose(by_keras["predictions"][:, 0], found, 1e-5, 1e-4)
    if importlib.util.find_spec("onnxruntime"):
        path = export_savedmodel(described, RunSettings(), str(tmp_path / "onnx"), format="onnx")
        by_onnx = computed(path, values(data=data))["predictions"][:, 0]
        np.testing.assert_allclose(by_onnx, found, 1e-5, 1e-4)


@pytest.mark.slow
@needs_ydf
def test_trees_read_values_that_the_training_lacked(tensorflow: Any, tmp_path: Path) -> None:
    labels = LABELS * (ROWS // 4)
    response = np.array([RESPONSE[each] for each in labels]) + NUMBER
    described = model("boosted_trees_regressor", tmp_path, **KINDS["boosted_trees_regressor"])
    weights = np.arange(ROWS) % 5 > 0
    # A row of weight 0 has no value that counts.
    learned = {"x": coded(labels), "n": np.where(weights, NUMBER, 9e9), "y": response}
    described = replace(described, weight_column="w")
    train(described, SEED, in_memory({**learned, "w": weights.astype("float32")}))
    found = predicted(described, in_memory(far_rows(), None))
    assert found[3] < found[0] < found[1] < found[2]
    assert found[4] == found[3]
    assert found[-1] < found[0] < found[6]
    np.testing.assert_array_equal(found[6:], np.repeat(found[[6, -1]], len(FARTHEST)))


CLASSES = {
    "years": [2017, 2018, 2019, 2020],
    "codes": [20_000, 40_000, 60_000],
    "days": [20_240_131, 20_240_132, 20_240_133],
    "signs": [-1, 1],
    "positions": [0, 1, 2],
    "without a zero": [1, 2],
}


def completed(source: Input) -> Any:
    described = model("tabular_classifier")
    return described.complete_from_input(described.reading(source).in_memory().facts())


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_the_numbers_that_occur(tmp_path: Path, kind: str, name: str) -> None:
    classes = CLASSES[name]
    response = np.array(classes * 12)[: 12 * len(classes)].astype(
        "float64" if kind == "csv" else "int32"
    )
    found = completed(source_of(kind, tmp_path, NUMBER[: len(response)].tolist(), response))
    names = None if name == "positions" else tuple(map(str, classes))
    assert (found.n_classes, found.label_vocabulary) == (len(classes), names)
    assert found.table.has_numbers_as_classes


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        ([0, 0.5, 1], r"holds 0.5, but .* whole numbers.\nMake the response a factor"),
        ([3, 3, 3], '"y" has one value, "3", and a classifier needs two or more'),
    ],
)
def test_responses_without_classes_are_rejected(response: list[float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        completed(in_memory({"x": np.arange(3.0), "y": np.array(response, "float32")}))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_numbers_as_classes_are_learned_and_predicted(
    tensorflow: Any, tmp_path: Path, dtype: str
) -> None:
    years = (2017 + np.digitize(NUMBER, [-0.5, 0.5])).astype(dtype)
    described = model("tabular_classifier", tmp_path, **SMALL)
    train(described, SEED, in_memory({"x": NUMBER, "y": years}))
    found = concatenate(predict(described, RunSettings(), in_memory({"x": NUMBER}, None)))
    assert np.mean(found["classes"][:, 0].astype(float) == years) > 0.9
    # The loss is computed another way, from the probabilities.
    chosen = found["probabilities"][np.arange(ROWS), (years - 2017).astype(int)]
    metrics = evaluate(described, RunSettings(), in_memory({"x": NUMBER, "y": years}))
    assert metrics["average_loss"] == pytest.approx(-np.mean(np.log(chosen)), rel=1e-4)
    assert metrics["accuracy"] > 0.9
    later = in_memory({"x": NUMBER, "y": years + 1})
    with pytest.raises(InputError, match=r"has the label 2020(\.0)? in row"):
        evaluate(described, RunSettings(), later)


@pytest.mark.parametrize("kind_of_model", KINDS)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_feature_is_named_with_its_row(
    tmp_path: Path, kind: str, value: float, kind_of_model: str
) -> None:
    feature = [1.0, 2.0, value, 4.0]
    source = source_of(kind, tmp_path, feature, np.arange(4.0))
    described = model(kind_of_model)
    shown = "Inf" if value > 0 else "-Inf"
    with pytest.raises(InputError, match=f"The column `x` is {shown} in row 3"):
        described.complete_from_input(described.reading(source).in_memory().facts())


@pytest.mark.parametrize("usual", [NUMBER, np.arange(ROWS) % 10 == 0])
def test_fill_values_leave_the_scale_of_other_values(usual: Any) -> None:
    fills = np.arange(ROWS) % 20 == 3
    known, filled = (
        Number.of(ColumnFacts("x", "float"), np.where(each, FILL, usual)) for each in (False, fills)
    )
    assert filled.median == pytest.approx(known.median, abs=0.1)
    assert filled.scale == pytest.approx(known.scale, rel=0.1)
    # A spread that is not much larger than the scale leaves digits enough.
    assert filled.spread < 1e4 * known.scale


def test_columns_without_a_label_are_not_learned() -> None:
    gone = Factor(np.zeros(4, "int32"), [""])
    described = model("tabular_regressor")
    columns = {"x": gone, "n": np.arange(4.0), "y": np.arange(4.0)}
    table = described.complete_from_input(in_memory(columns).facts()).table
    assert (table.categories, len(table.numbers)) == ((), 1)
