"""Categories and classes of rows in memory: computed once, with the same weights to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import many_steps
from support.checkpoints import assert_identical
from support.inputs import Factor, in_memory
from support.sampling import diagonal

from tfdistribute import engine
from tfdistribute.engine.estimator import category_codes
from tfdistribute.engine.step.passes import VARIABLE

pytestmark = pytest.mark.usefixtures("tensorflow")

ROWS = 44
WORDS = np.array(["red", "green", "blue", ""], object)
random = np.random.default_rng(3)
COLUMNS = {
    "word": Factor(random.integers(0, 3, ROWS), WORDS),
    "gap": Factor(random.integers(0, 4, ROWS), WORDS),
    "number": random.integers(0, 6, ROWS).astype("int32"),
    "length": random.normal(size=ROWS).astype("float32"),
}
Y = random.normal(size=ROWS).astype("float32")
CLASS = random.integers(0, 3, ROWS)

# What computes categories, searches for missing ones, or checks classes.
OF_STRINGS = {"StringToHashBucketFast", "SparseCross", "LookupTableFindV2", "AsString", "Bucketize"}
SEARCHES = {"Where", "SparseFillEmptyRows"}


def hashed(key: str) -> dict[str, Any]:
    return {"kind": "categorical_with_hash_bucket", "key": key, "hash_bucket_size": 50}


def words(key: str) -> dict[str, Any]:
    names = ["red", "blue"]
    return {
        "kind": "categorical_with_vocabulary_list",
        "key": key,
        "vocabulary_list": names,
        "default_value": -1,
    }


NUMBER = {"kind": "categorical_with_identity", "key": "number", "num_buckets": 6}
LENGTH = {"kind": "numeric", "key": "length"}
RANGES = {"kind": "bucketized", "source_column": LENGTH, "boundaries": [-0.5, 0.5]}
CROSSED = {"kind": "crossed", "keys": ["word", NUMBER, RANGES], "hash_bucket_size": 40}
COMPLETE = {"hashed": hashed("word"), "identity": NUMBER, "ranges": RANGES, "crossed": CROSSED}
# Some rows have no category.
INCOMPLETE = {
    "hashed": hashed("gap"),
    "words": words("word"),
    "crossed": {**CROSSED, "keys": [words("gap"), "number"]},
}


def linear(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "linear_regressor", "feature_columns": columns}


def deep(column: dict[str, Any], wrapper: str = "embedding") -> dict[str, Any]:
    wrapped: dict[str, Any] = {"kind": wrapper, "categorical_column": column}
    if wrapper == "embedding":
        wrapped["dimension"] = 3
    return {"kind": "dnn_regressor", "hidden_units": [4], "feature_columns": [wrapped]}


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Types of the operations of a step in the last training."""
    found = set[str]()
    check = engine.step.loop.check

    def noted(program: Any) -> None:
        found.clear()
        found.update(each.type for each in program.operations())
        check(program)

    monkeypatch.setattr(engine.step.loop, "check", noted)
    return found


def trained(model: dict[str, Any], directory: Path, label: Any = Y) -> dict[str, Any]:
    data = in_memory({**COLUMNS, "y": label}, batch_size=8, epochs=3)
    return many_steps.trained(model, directory, 7, data=data)[0]


def without_codes(
    model: dict[str, Any], directory: Path, monkeypatch: pytest.MonkeyPatch, label: Any = Y
) -> dict[str, Any]:
    with monkeypatch.context() as patched:
        patched.setenv(VARIABLE, "-category_codes")
        return trained(model, directory, label)


@pytest.mark.versions
@diagonal(("name", "model"), COMPLETE, [linear, deep])
def test_a_step_neither_computes_nor_searches_for_categories(
    monkeypatch: pytest.MonkeyPatch, types: set[str], tmp_path: Path, name: str, model: Any
) -> None:
    expected = without_codes(model(COMPLETE[name]), tmp_path / "without", monkeypatch)
    assert types & SEARCHES
    found = trained(model(COMPLETE[name]), tmp_path / "with")
    assert not types & (OF_STRINGS | SEARCHES)
    assert_identical(found, expected)


@diagonal(("name", "model"), INCOMPLETE, [deep, linear])
def test_rows_without_a_category_are_searched_for_and_not_computed(
    monkeypatch: pytest.MonkeyPatch, types: set[str], tmp_path: Path, name: str, model: Any
) -> None:
    expected = without_codes(model(INCOMPLETE[name]), tmp_path / "without", monkeypatch)
    assert types & OF_STRINGS
    found = trained(model(INCOMPLETE[name]), tmp_path / "with")
    assert types & SEARCHES
    assert not types & OF_STRINGS
    assert_identical(found, expected)


@pytest.mark.parametrize("column", [hashed("word"), words("gap")])
def test_indicators_read_codes(
    monkeypatch: pytest.MonkeyPatch, types: set[str], tmp_path: Path, column: dict[str, Any]
) -> None:
    model = deep(column, "indicator")
    expected = without_codes(model, tmp_path / "without", monkeypatch)
    found = trained(model, tmp_path / "with")
    assert not types & OF_STRINGS
    assert_identical(found, expected)


def test_different_columns_of_one_name_have_codes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, types: set[str], tmp_path: Path
) -> None:
    model = {
        "kind": "dnn_linear_combined_regressor",
        "linear_feature_columns": [hashed("word")],
        "dnn_feature_columns": deep({**hashed("word"), "hash_bucket_size": 5})["feature_columns"],
        "dnn_hidden_units": [4],
    }
    expected = without_codes(model, tmp_path / "without", monkeypatch)
    found = trained(model, tmp_path / "with")
    assert not types & (OF_STRINGS | SEARCHES)
    assert_identical(found, expected)


def test_weighted_categories_are_computed_in_each_step(types: set[str], tmp_path: Path) -> None:
    column = {
        "kind": "categorical_weighted",
        "categorical_column": hashed("word"),
        "weight_feature_key": "length",
    }
    trained(linear(column), tmp_path)
    assert "StringToHashBucketFast" in types


def test_a_function_of_a_user_is_called_for_batches_only(types: set[str], tmp_path: Path) -> None:
    def of_batch(values: Any) -> Any:
        assert not tf.executing_eagerly()
        return values

    ranges = {**RANGES, "source_column": {**LENGTH, "normalizer_fn": of_batch}}
    trained(linear(ranges, {**CROSSED, "keys": ["word", ranges]}), tmp_path)
    assert {"SparseCross", "Bucketize"} <= types


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_ROWS", ROWS - 1), ("MOST_CODES", 2 * ROWS - 1)]
)
def test_more_rows_than_are_worth_it_are_computed_in_each_step(
    monkeypatch: pytest.MonkeyPatch, types: set[str], tmp_path: Path, limit: str, value: int
) -> None:
    monkeypatch.setattr(category_codes, limit, value)
    trained(linear(hashed("word"), NUMBER), tmp_path)
    assert "StringToHashBucketFast" in types or types & SEARCHES


CLASSES = {
    "numbers": (CLASS, {}),
    "real numbers": (CLASS.astype("float32"), {}),
    "words": (Factor(CLASS, WORDS[:3]), {"label_vocabulary": list(WORDS[:3])}),
}


@pytest.mark.versions
@diagonal(("name", "n_classes"), CLASSES, [2, 3])
def test_classes_that_were_checked_for_all_rows_are_not_checked_again(
    monkeypatch: pytest.MonkeyPatch, types: set[str], tmp_path: Path, name: str, n_classes: int
) -> None:
    label, fields = CLASSES[name]
    if n_classes == 2:
        label = Factor(CLASS % 2, WORDS[:2]) if isinstance(label, Factor) else label % 2
        fields = {each: names[:2] for each, names in fields.items()}
    model = {
        "kind": "dnn_classifier",
        "hidden_units": [4],
        "feature_columns": [LENGTH],
        "n_classes": n_classes,
        **fields,
    }
    guards = {"Assert", "If", "StatelessIf", "LookupTableFindV2"}
    expected = without_codes(model, tmp_path / "without", monkeypatch, label)
    assert types & guards
    found = trained(model, tmp_path / "with", label)
    assert not types & guards
    assert_identical(found, expected)
