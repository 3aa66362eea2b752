"""Columns that need more digits than 32 bits hold: times and numbers with a large offset, and whole doubles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory
from support.models import model, sgd
from support.sampling import sampled
from support.strategies import settings

from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.training import concatenate, evaluate, export_savedmodel, predict, train

# Less than a minute of times in seconds; 48 rows are whole batches.
X = np.arange(48.0)
Y = np.sin(X / 8) + X / 20
OFFSET = 1.7e9
CENTER, SCALE = X.mean(), X.std()


def columns_of(x: Any, kind: str = "float") -> Input:
    described = [
        {"name": "x", "type": kind, "values": lambda: x},
        {"name": "y", "type": "float", "values": lambda: Y},
    ]
    fields = {"response": "y", "batch_size": 16, "epochs": 8}
    return read(Input, {"kind": "in_memory", "columns": described, **fields})


def csv(folder: Path, offset: float) -> Input:
    path = folder / f"{offset:g}.csv"
    rows = zip((X + offset).tolist(), Y.tolist(), strict=True)
    path.write_text("x,y\n" + "".join(f"{x:.1f},{y!r}\n" for x, y in rows), encoding="utf-8")
    fields = {"response": "y", "batch_size": 16, "epochs": 8}
    return read(Input, {"kind": "csv", "paths": str(path), **fields})


def generator(offset: float) -> Input:
    sent: list[int] = []

    def begin() -> bool:
        sent.clear()
        return True

    def next_batch() -> Any:
        first = 16 * len(sent)
        sent.append(first)
        part = slice(first, first + 16)
        columns = [
            {"name": "x", "type": "float", "values": X[part] + offset},
            {"name": "y", "type": "float", "values": Y[part]},
        ]
        return {"columns": columns} if first < len(X) else None

    fields = {"response": "y", "epochs": 8}
    return read(Input, {"kind": "generator", "begin": begin, "next_batch": next_batch, **fields})


def integer64(offset: float) -> Any:
    return (X + offset).astype(np.int64).view(np.float64)


# Inputs of X with an offset: the folder is for files.
SOURCES: dict[str, Callable[[Path, float], Input]] = {
    "doubles": lambda _, offset: columns_of(X + offset),
    "times": lambda _, offset: columns_of(X + offset, "datetime"),
    "integer64": lambda _, offset: columns_of(integer64(offset), "integer64"),
    "csv": csv,
    "generator": lambda _, offset: generator(offset),
}


def standardized(offset: float, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "numeric",
        "key": "x",
        "center": [CENTER + offset],
        "scale": [SCALE],
        **fields,
    }


def in_ranges(offset: float) -> dict[str, Any]:
    boundaries = [12 + offset, 24 + offset, 36 + offset]
    source = {"kind": "numeric", "key": "x"}
    return {"kind": "bucketized", "source_column": source, "boundaries": boundaries}


def in_ranges_of_standardized(offset: float) -> dict[str, Any]:
    boundaries = [-1.0, 0.0, 1.0]
    source = standardized(offset)
    return {"kind": "bucketized", "source_column": source, "boundaries": boundaries}


def by_function(offset: float) -> dict[str, Any]:
    def normalize(x: Any) -> Any:
        return (x - offset - CENTER) / SCALE

    return {"kind": "numeric", "key": "x", "dtype": "float64", "normalizer_fn": normalize}


def linear(column: Any, directory: Path) -> Any:
    fields = {"feature_columns": [column], "optimizer": sgd(0.1)}
    return model("linear_regressor", directory, **fields)


def deep(column: Any, directory: Path) -> Any:
    fields = {"feature_columns": [column], "optimizer": sgd(0.1), "hidden_units": [4]}
    return model("dnn_regressor", directory, **fields)


def combined(column: Any, directory: Path) -> Any:
    fields = {
        "linear_feature_columns": [column],
        "dnn_feature_columns": [column],
        "linear_optimizer": sgd(0.1),
        "dnn_optimizer": sgd(0.1),
        "dnn_hidden_units": [4],
    }
    return model("dnn_linear_combined_regressor", directory, **fields)


def results(
    folder: Path, source: str, make: Any, column: Any, offset: float, run: Any
) -> tuple[Any, float]:
    def rows() -> Input:
        return SOURCES[source](folder, offset)

    folder.mkdir()
    described = make(column(offset), folder / "model")
    train(described, run, rows(), max_steps=24)
    found = concatenate(predict(described, run, rows()))["predictions"].ravel()
    loss = evaluate(described, run, rows(), steps=3)["average_loss"]
    return found, loss


@sampled(
    ("source", "make", "column", "strategy", "loop"),
    [
        *((source, linear, standardized, "none", {}) for source in SOURCES),
        ("doubles", deep, standardized, "none", {}),
        ("times", combined, standardized, "none", {}),
        ("doubles", linear, standardized, "mirrored", {}),
        ("times", deep, standardized, "none", {"steps_per_run": 8}),
        ("doubles", linear, standardized, "none", {"steps_per_run": 8, "compile": True}),
        ("times", linear, in_ranges, "none", {}),
        ("csv", linear, in_ranges, "none", {"steps_per_run": 8}),
        ("doubles", deep, in_ranges_of_standardized, "none", {}),
        ("doubles", linear, by_function, "none", {}),
        ("integer64", combined, in_ranges, "mirrored", {}),
    ],
    check=[
        ("doubles", linear, standardized, "none", {}),
        ("times", deep, standardized, "none", {"steps_per_run": 8}),
        ("doubles", linear, standardized, "none", {"steps_per_run": 8, "compile": True}),
        ("csv", linear, in_ranges, "none", {"steps_per_run": 8}),
        ("integer64", combined, in_ranges, "mirrored", {}),
        ("doubles", linear, by_function, "none", {}),
    ],
    versions=[("times", deep, standardized, "none", {"steps_per_run": 8})],
)
def test_an_offset_changes_no_result(
    tensorflow: Any, tmp_path: Path, source: str, make: Any, column: Any, strategy: str, loop: Any
) -> None:
    run = settings(strategy, seed=1, **loop)
    expected, expected_loss = results(tmp_path / "small", source, make, column, 0.0, run)
    found, loss = results(tmp_path / "large", source, make, column, OFFSET, run)
    assert np.std(expected) > 0.05
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert loss == pytest.approx(expected_loss, rel=1e-4)


def test_an_exported_model_reads_the_digits(tensorflow: Any, tmp_path: Path) -> None:
    described = linear(standardized(OFFSET), tmp_path / "model")
    train(described, settings(), columns_of(X + OFFSET))
    expected = concatenate(predict(described, settings(), columns_of(X + OFFSET)))["predictions"]
    path = export_savedmodel(
        described, settings(), str(tmp_path / "export"), request=columns_of(X + OFFSET)
    )
    served = tensorflow.saved_model.load(path).signatures["predict"]
    found = served(x=tensorflow.constant(X + OFFSET, tensorflow.float64))["predictions"]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("make", [linear, deep, combined])
def test_ordinary_columns_stay_at_32_bits(make: Any, tmp_path: Path) -> None:
    for column in (standardized(0.0), standardized(1e3), {"kind": "numeric", "key": "x"}):
        described = make(column, tmp_path)
        assert described.types_read() == {}
        source = columns_of(X).reading(described.types_read())
        assert (source.facts().features or {})["x"].dtype == "float32"


def identity(**fields: Any) -> dict[str, Any]:
    return {"kind": "categorical_with_identity", "key": "x", "num_buckets": 6, **fields}


CATEGORIES = {
    "identity": identity(),
    "vocabulary": {
        "kind": "categorical_with_vocabulary_list",
        "key": "x",
        "vocabulary_list": [3, 4, 5],
    },
    "hash": {
        "kind": "categorical_with_hash_bucket",
        "key": "x",
        "hash_bucket_size": 9,
        "dtype": "int64",
    },
    "crossed": {"kind": "crossed", "keys": ["x", "z"], "hash_bucket_size": 9},
}
GEARS = np.resize([3, 4, 5, 4], 48)


def gears(values: Any) -> Input:
    columns = {"x": values, "z": values, "y": Y}
    return in_memory(columns, batch_size=16, epochs=8, shuffle=False)


@pytest.mark.parametrize("name", CATEGORIES)
def test_whole_doubles_are_whole_numbers(tensorflow: Any, tmp_path: Path, name: str) -> None:
    found: list[Any] = []
    for kind in ("int32", "float64"):
        described = linear(CATEGORIES[name], tmp_path / kind)
        train(described, settings(), gears(GEARS.astype(kind)))
        for later in ("int32", "float64"):
            rows = gears(GEARS.astype(later))
            found.append(concatenate(predict(described, settings(), rows))["predictions"])
    assert np.std(found[0]) > 1e-3
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])


def test_whole_doubles_of_files_are_whole_numbers(tensorflow: Any, tmp_path: Path) -> None:
    described = linear(identity(num_buckets=48), tmp_path / "model")
    train(described, settings(), csv(tmp_path, 0.0))
    expected = concatenate(predict(described, settings(), columns_of(X)))["predictions"]
    found = concatenate(predict(described, settings(), csv(tmp_path, 0.0)))["predictions"]
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(InputError, match="value that is not integer64, in line 2"):
        train(linear(identity(num_buckets=48), tmp_path / "other"), settings(), csv(tmp_path, 0.5))


def test_fractions_are_no_whole_numbers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'"x" holds numbers with fractions \(doubles\), but'):
        train(linear(identity(), tmp_path), settings(), gears(np.array([3, 4.5] * 24)))
