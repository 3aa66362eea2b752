"""Weights of rows: a row of weight 0 is no row, and whole weights are repeated rows, for all that is learned."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from support.inputs import Factor, in_memory
from support.models import line, model
from support.sampling import diagonal, sampled
from support.tabular import judged

from tfdistribute.columns import ColumnFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.models.weights import mean_and_spread, quantiles
from tfdistribute.run_config import RunSettings
from tfdistribute.storage.buckets import arrow_module
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.history import History
from tfdistribute.training.model_directory import ModelDirectory
from tfdistribute.training.tabular import choice, parts
from tfdistribute.training.train import train

RANDOM = np.random.default_rng(8)
ROWS, WILD = 120, 40
CITIES = [*"abcdefghijk", "wild"]
SEED = RunSettings(seed=3)
Columns = dict[str, Any]


def tame() -> Columns:
    days = np.datetime64("2020-01-01") + RANDOM.integers(0, 40, ROWS)
    x = RANDOM.normal(size=ROWS)
    return {
        "x": x,
        "day": days,
        "city": RANDOM.integers(0, 11, ROWS),
        "count": RANDOM.poisson(3, ROWS).astype(float),
        "class": RANDOM.integers(0, 3, ROWS),
        "kind": RANDOM.integers(0, 3, ROWS),
        "y": 50 + 10 * x,
        "w": RANDOM.integers(1, 4, ROWS).astype(float),
    }


TAME = tame()
WILDS = {
    "x": np.resize([1e6, 2e6, np.nan], WILD),
    "day": np.resize(np.array(["2120-01-01", "2121-01-01", "NaT"], "datetime64[D]"), WILD),
    "city": np.full(WILD, 11),
    "count": np.full(WILD, 1e5),
    "class": np.full(WILD, 9),
    "kind": np.full(WILD, 3),
    "y": 1e6 * RANDOM.normal(size=WILD),
    "w": np.zeros(WILD),
}
ORDER = RANDOM.permutation(ROWS + WILD)
MIXED = {name: np.concatenate([TAME[name], WILDS[name]])[ORDER] for name in TAME}
# The tame rows in the order in which they are among the wild ones.
TAME = {name: MIXED[name][MIXED["w"] > 0] for name in TAME}
REPEATED = {name: np.repeat(TAME[name], TAME["w"].astype(int)) for name in TAME}


def rows(columns: Columns, response: str, way: str | None) -> Input:
    """Describe rows whose weights the model reads, or which are named; None for equal weights."""
    features = ("x", "day", "city", *(() if way is None else ("w",)))
    labels = {"city": CITIES, "kind": [*"pqr", "wild"]}
    values = {
        name: Factor(columns[name], labels[name], is_text=True) if name in labels else columns[name]
        for name in (*features, response)
    }
    return weighted(in_memory(values, response), way)


def files(directory: Path, columns: Columns, way: str) -> Input:
    table = {name: columns[name] for name in ("x", "day", "count", "y", "w")}
    path = str(directory / "rows.parquet")
    arrow = arrow_module("pyarrow").table(table)
    arrow_module("pyarrow.parquet").write_table(arrow, path)
    return weighted(read(Input, {"kind": "parquet", "paths": [path], "response": "y"}), way)


def weighted(source: Input, way: str | None) -> Input:
    if way != "weights":
        return source
    return read(Input, {"kind": "transformed", "source": source, "weights": "w"})


def weighing(way: str | None) -> dict[str, Any]:
    return {"weight_column": "w"} if way == "weight_column" else {}


def learn(
    kind: str, source: Input, way: str | None, directory: Path = Path("m"), **fields: Any
) -> tuple[Any, list[Any]]:
    """Complete a tabular model without a training, and return it with the rows of the trials."""
    seen = list[Any]()

    def trial(training: Any) -> History:
        if not seen:
            seen.append(values_of(training.train.input))
        judged(training)
        return History()

    def logits_of(candidate: Any, _: Any, source: Input) -> Any:
        if len(seen) == 1:
            seen.append(values_of(source))
        return np.zeros((source.facts().rows, candidate.units))

    described = model(kind, directory, parts=("layers",), **weighing(way), **fields)
    with mock.patch.object(parts, "_read_variables", lambda _: {}):
        chosen, _ = choice.choose_end(described, SEED, source, trial, logits_of)
    return chosen, seen


def values_of(source: Input) -> Any:
    return source.facts().values_of("x")


def timeless(completed: Any) -> Any:
    validation = replace(completed.table.validation, seconds=0.0)
    return replace(completed.table, validation=validation)


def number(name: str, field: str) -> Callable[[Any], Any]:
    return lambda model: next(
        getattr(each, field) for each in model.table.numbers if each.name == name
    )


# What a model learns, by the kind of the model, its response and fields.
STATISTICS: dict[str, tuple[str, str, dict[str, Any], Callable[[Any], Any]]] = {
    **{
        f"{field} of {name}": ("tabular_regressor", "y", {}, number(name, field))
        for name in ("x", "day")
        for field in ("mean", "spread", "median", "scale", "incomplete")
    },
    "periods of day": ("tabular_regressor", "y", {}, number("day", "periods")),
    "levels": ("tabular_regressor", "y", {}, lambda model: model.table.categories[0].levels),
    "limits": ("tabular_regressor", "y", {}, lambda model: model.table.limits),
    "scale of the response": ("tabular_regressor", "y", {}, lambda model: model.response_scale),
    "mean of counts": (
        "tabular_regressor",
        "count",
        {"loss": "poisson"},
        lambda model: model.response_scale,
    ),
    "number of classes": ("tabular_classifier", "class", {}, lambda model: model.n_classes),
    "names of classes": ("tabular_classifier", "kind", {}, lambda model: model.label_vocabulary),
}
# Rows count here, and not their weights.
LENGTHS: dict[str, Callable[[Any], Any]] = {
    "batch size": lambda model: model.table.batch_size,
    "ensemble": lambda model: model.table.ensemble,
    "steps": lambda model: model.table.steps,
    "end": lambda model: model.table.end,
    "losses": lambda model: model.table.losses,
}
WAYS = ["weight_column", "weights"]


@diagonal(("learned", "way"), STATISTICS, WAYS)
def test_rows_of_weight_0_do_not_change_what_is_learned(learned: str, way: str) -> None:
    kind, response, fields, of = STATISTICS[learned]
    found, _ = learn(kind, rows(MIXED, response, way), way, **fields)
    expected, _ = learn(kind, rows(TAME, response, way), way, **fields)
    assert of(found) == of(expected)
    # The table of statistics is what the wild rows would change.
    wild, _ = learn(kind, rows(MIXED, response, None), None, **fields)
    assert of(wild) != of(expected)


@diagonal(("learned", "way"), STATISTICS, WAYS[::-1])
def test_whole_weights_are_repeated_rows_in_what_is_learned(learned: str, way: str) -> None:
    kind, response, fields, of = STATISTICS[learned]
    found, _ = learn(kind, rows(MIXED, response, way), way, **fields)
    expected, _ = learn(kind, rows(REPEATED, response, None), None, **fields)
    # Another unit of the weights changes nothing. They have 32 bits.
    scaled, _ = learn(kind, rows({**MIXED, "w": 0.1 * MIXED["w"]}, response, way), way, **fields)
    if learned in ("levels", "names of classes", "periods of day"):
        assert of(found) == of(scaled) == of(expected)
    else:
        np.testing.assert_allclose(of(found), of(expected), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(of(scaled), of(expected), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_weight_0_do_not_change_the_length_and_the_trials(way: str) -> None:
    found, seen = learn("tabular_regressor", rows(MIXED, "y", way), way)
    expected, seen_tame = learn("tabular_regressor", rows(TAME, "y", way), way)
    for of in LENGTHS.values():
        assert of(found) == of(expected)
    for each, tame in zip(seen, seen_tame, strict=True):
        np.testing.assert_array_equal(each, tame)


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_weight_0_in_files_are_no_rows(tmp_path: Path, way: str) -> None:
    (tmp_path / "tame").mkdir()
    found, seen = learn("tabular_regressor", files(tmp_path, MIXED, way), way)
    source = files(tmp_path / "tame", TAME, way)
    expected, seen_tame = learn("tabular_regressor", source, way)
    assert timeless(found) == timeless(expected)
    assert found.response_scale == expected.response_scale
    for each, tame in zip(seen, seen_tame, strict=True):
        np.testing.assert_array_equal(each, tame)


@pytest.mark.parametrize("way", WAYS)
def test_every_regressor_weighs_the_scale_of_the_response(way: str) -> None:
    def scale(columns: Columns, way: str | None) -> Any:
        described = line(standardize_response=True, **weighing(way))
        return described.complete_from_input(rows(columns, "y", way).facts()).response_scale

    np.testing.assert_allclose(scale(MIXED, way), scale(REPEATED, None), rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "response", "way"),
    [
        ("tabular_regressor", "y", "weights"),
        pytest.param("tabular_classifier", "class", "weight_column", marks=pytest.mark.full),
    ],
)
def test_rows_of_weight_0_do_not_change_the_trained_model(
    tensorflow: Any, tmp_path: Path, kind: str, response: str, way: str
) -> None:
    small = {"hidden_units": [8], "ensemble": 1, **weighing(way)}
    found = []
    for name, columns in (("mixed", MIXED), ("tame", TAME)):
        described = model(kind, tmp_path / name, **small)
        history = train(described, SEED, rows(columns, response, way))
        metrics = evaluate(described, SEED, rows(TAME, response, way))
        # The choice is made by weighted losses.
        found.append((history.notes, metrics))
    assert found[0] == found[1]


def test_validation_rows_are_weighted(tensorflow: Any, tmp_path: Path) -> None:
    kind, response = "tabular_classifier", "class"
    chosen: list[tuple[float, ...]] = []
    weight_1 = {**TAME, "w": np.ones(ROWS)}
    repeated = {**REPEATED, "w": np.ones(len(REPEATED["w"]))}
    for name, validation in (("mixed", MIXED), ("repeated", repeated)):
        described = model(
            kind, tmp_path / name, hidden_units=[8], ensemble=1, weight_column="w", batch_size=64
        )
        source = rows(weight_1, response, "weight_column")
        judges = rows(validation, response, "weight_column")
        train(described, SEED, source, validation=judges)
        table = described.complete_from_signature(
            ModelDirectory(str(tmp_path / name)).structure
        ).table
        chosen.append(table.losses)
    # Of more rows, a smaller gain is no chance, so that more cycles may be tried.
    least = min(len(each) for each in chosen)
    np.testing.assert_allclose(chosen[0][:least], chosen[1][:least], rtol=1e-5)


def test_quantiles_are_values_of_the_rows() -> None:
    values, shares = RANDOM.normal(size=50), (0.1, 0.25, 0.5, 0.75)
    weights = RANDOM.integers(1, 5, 50)
    expected = np.quantile(np.repeat(values, weights), shares, method="averaged_inverted_cdf")
    np.testing.assert_allclose(quantiles(values, shares, weights), expected, rtol=1e-12)
    np.testing.assert_allclose(quantiles(values, shares, 0.1 * weights), expected, rtol=1e-12)
    ones = np.ones(50)
    np.testing.assert_allclose(
        quantiles(values, shares, ones), quantiles(values, shares, None), rtol=1e-12
    )


# A weight, and its text in the error.
WRONG = {"-1": -1.0, "inf": np.inf, "missing": np.nan}


def small(**columns: Any) -> dict[str, Any]:
    return {"x": np.arange(8.0), "y": np.arange(8.0), **columns}


def small_rows(weights: Any, source: str, way: str, directory: Path) -> Input:
    columns = small(w=weights)
    if source == "in_memory":
        made = in_memory(columns)
    else:
        path = str(directory / f"rows.{source}")
        table = arrow_module("pyarrow").table(columns)
        if source == "csv":
            arrow_module("pyarrow.csv").write_csv(table, path)
        else:
            arrow_module("pyarrow.parquet").write_table(table, path)
        made = read(Input, {"kind": source, "paths": [path], "response": "y"})
    return weighted(made, way)


def small_model(kind: str, way: str, directory: Path) -> Any:
    if kind == "linear_regressor":
        return line(directory, **weighing(way))
    return model(kind, directory, epochs=1, hidden_units=[4], **weighing(way))


KINDS = ("linear_regressor", "tabular_regressor")
CASES = list(itertools.product(WRONG, KINDS, ("in_memory", "parquet", "csv"), WAYS))


@sampled(("wrong", "kind", "source", "way"), CASES, check=CASES[::5])
def test_a_weight_that_cannot_be_used_is_an_error_with_its_row(
    tensorflow: Any, tmp_path: Path, wrong: str, kind: str, source: str, way: str
) -> None:
    weights = np.ones(8)
    weights[2] = WRONG[wrong]
    with pytest.raises(InputError) as caught:
        train(
            small_model(kind, way, tmp_path / "m"),
            SEED,
            small_rows(weights, source, way, tmp_path),
        )
    assert caught.value.argument == "w"
    assert "`w`" in caught.value.problem
    assert "row 3" in caught.value.problem or "line 4" in caught.value.problem
    # A streamed file has no value for it.
    is_gone = "missing value" in caught.value.problem and kind == "linear_regressor"
    assert caught.value.value == wrong or is_gone


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["linear_regressor", "tabular_regressor"])
def test_no_row_of_positive_weight_is_an_error(
    tensorflow: Any, tmp_path: Path, kind: str, way: str
) -> None:
    described = small_model(kind, way, tmp_path / "m")
    zeros, ones = (small_rows(np.full(8, n), "in_memory", way, tmp_path) for n in (0.0, 1.0))
    with pytest.raises(InputError, match="must not be 0 in all 8 rows"):
        train(described, SEED, zeros)
    train(described, SEED, ones)
    with pytest.raises(InputError, match="must not be 0 in all 8 rows"):
        evaluate(described, SEED, zeros)
    negative = small_rows(np.where(np.arange(8) == 2, -1.0, 1.0), "in_memory", way, tmp_path)
    with pytest.raises(InputError, match="at least 0, not -1 in row 3"):
        evaluate(described, SEED, negative)
    if kind == "tabular_regressor":
        chooses = model(kind, tmp_path / "other", **weighing(way))
        with pytest.raises(InputError, match="must not be 0 in all 8 rows"):
            train(chooses, SEED, ones, validation=zeros)


def test_a_tabular_model_cannot_learn_columns_that_a_function_makes(
    tensorflow: Any, tmp_path: Path
) -> None:
    source = read(
        Input,
        {
            "kind": "transformed",
            "source": in_memory(small()),
            "transform": lambda features: {"x": 2 * features["x"]},
        },
    )
    with pytest.raises(InputError, match="learns its columns from a table"):
        train(model("tabular_regressor", tmp_path), SEED, source)


def test_values_of_other_names_are_not_known() -> None:
    facts = in_memory(small()).facts()
    assert facts.values_of("w") is None
    assert facts.features is not None
    assert facts.features["x"] == ColumnFacts("x", "float")


def test_equal_numbers_have_no_spread_whatever_their_offset() -> None:
    # Their mean is rounded, and is none of them.
    same = np.full(7, 1.7e9 + 0.1)
    for weights in (None, np.arange(7.0)):
        assert mean_and_spread(same, weights)[1] == 0.0
