"""Conversion of any input to files: the same rows in the same order, or no files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistribute.columns import ColumnFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Arrow, Input, TFRecord, write_input, writing

ROWS = 50


def csv(folder: Path, **fields: Any) -> Input:
    path = folder / "data.csv"
    rows = (f"{row},{row / 2},{'ab'[row % 2]}ö,{-row}" for row in range(ROWS))
    path.write_text("n,x,kind,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    common = {"kind": "csv", "paths": [str(path)], "response": "y", "batch_size": 7}
    return read(Input, {**common, **fields})


def generator() -> Input:
    def columns(first: int) -> Any:
        ids = np.arange(first, first + 10)
        return {
            "columns": [
                {"name": "n", "type": "integer", "values": ids.astype(np.int32)},
                {"name": "y", "type": "float", "values": -ids.astype(float)},
            ]
        }

    waiting: list[Any] = []

    def begin() -> bool:
        waiting[:] = [*(columns(first) for first in range(0, ROWS, 10)), None]
        return False

    fields = {"begin": begin, "next_batch": lambda: waiting.pop(0), "response": "y"}
    return read(Input, {"kind": "generator", **fields})


def dataset(tf: Any) -> Input:
    def make() -> Any:
        n = tf.range(ROWS, dtype=tf.int32)
        pairs = {"n": n, "wide": tf.cast(tf.stack([n, n], 1), tf.float64)}
        return tf.data.Dataset.from_tensor_slices((pairs, -n)).batch(8)

    return read(Input, {"kind": "dataset_function", "function": make})


def everything(source: Input) -> tuple[dict[str, Any], Any]:
    found = list(source.input_fn("evaluate", 1)().as_numpy_iterator())
    features = {name: np.concatenate([f[name] for f, _ in found]) for name in found[0][0]}
    return features, np.concatenate([label for _, label in found])


@pytest.mark.parametrize("format", ["arrow", "tfrecord"])
def test_files_functions_and_generators_are_written_in_their_order(
    format: str,  # noqa: A002
    tmp_path: Path,
    tensorflow: Any,
):
    reader: Any = Arrow if format == "arrow" else TFRecord
    sources = {"csv": csv(tmp_path), "generator": generator(), "dataset": dataset(tensorflow)}
    for name, source in sources.items():
        index = write_input(source, format, str(tmp_path / name), 3)
        assert list(index.rows.values()) == [17, 17, 16]
        response = "label" if name == "dataset" else "y"
        written = reader((str(tmp_path / name),), response=response, batch_size=9)
        features, labels = everything(written)
        assert features["n"].tolist() == list(range(ROWS))
        assert labels.tolist() == [-row for row in range(ROWS)]
        if name == "csv":
            assert [text.decode() for text in features["kind"]] == ["aö", "bö"] * (ROWS // 2)
            assert features["x"].tolist() == [row / 2 for row in range(ROWS)]
            assert written.facts().features["n"] == ColumnFacts("n", "integer")
        if name == "dataset":
            assert features["wide"].tolist() == [[row, row] for row in range(ROWS)]


def test_writing_from_files_continues_after_an_interruption(
    tmp_path: Path, tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    source, directory = csv(tmp_path), tmp_path / "out"
    replace, finished = os.replace, [0]

    def failing(here: str, there: str) -> None:
        if there.endswith(".arrow"):
            finished[0] += 1
            if finished[0] == 3:
                raise OSError("full")
        replace(here, there)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(ArgumentError, match="cannot be written: full"):
        write_input(source, "arrow", str(directory), 4)
    with pytest.raises(InputError, match="are not finished"):
        Arrow((str(directory),)).facts()
    kept = directory / "part-00000-of-00004.arrow"
    before = kept.stat()
    monkeypatch.undo()
    write_input(source, "arrow", str(directory), 4)
    assert kept.stat().st_mtime_ns == before.st_mtime_ns
    assert sorted(path.name for path in directory.iterdir())[0] == "index.json"
    assert len(list(directory.iterdir())) == 5
    read_again = Arrow((str(directory),), response="y", batch_size=10)
    assert everything(read_again)[0]["n"].tolist() == list(range(ROWS))


def test_an_error_of_the_input_leaves_nothing(tmp_path: Path, tensorflow: Any):
    source = csv(tmp_path)
    with (tmp_path / "data.csv").open("a", encoding="utf-8") as file:
        file.write("1,2,3,4,5\n")
    with pytest.raises(InputError, match="line 52"):
        write_input(source, "tfrecord", str(tmp_path / "out"), 2)
    assert not (tmp_path / "out").exists()


def test_types_that_files_cannot_hold_are_refused_by_name(
    tmp_path: Path, tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    tf = tensorflow

    def of(make: Any) -> Input:
        return read(Input, {"kind": "dataset_function", "function": make})

    sparse = of(lambda: tf.data.Dataset.from_tensors({"x": tf.sparse.eye(3)}))
    with pytest.raises(InputError, match="`x` holds SparseTensorValue"):
        write_input(sparse, "tfrecord", str(tmp_path / "out"), 1)
    binary = of(lambda: tf.data.Dataset.from_tensors({"x": [b"\xff"]}))
    with pytest.raises(InputError, match="`x` holds bytes that are not text"):
        write_input(binary, "tfrecord", str(tmp_path / "out"), 1)
    endless = of(lambda: tf.data.Dataset.from_tensors({"x": [1.0]}).repeat())
    with pytest.raises(InputError, match="does not end"):
        write_input(endless, "tfrecord", str(tmp_path / "out"), 1)
    monkeypatch.setattr(writing, "MOST_LABELS", 1)
    with pytest.raises(InputError, match="more than 1 different strings"):
        write_input(csv(tmp_path), "tfrecord", str(tmp_path / "out"), 1)
    assert not (tmp_path / "out").exists()


def test_another_directorys_files_are_left_alone(tmp_path: Path, tensorflow: Any):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ArgumentError, match="is not empty"):
        write_input(csv(tmp_path), "tfrecord", str(tmp_path / "out"), 1)
    assert (tmp_path / "out" / "mine.txt").exists()
    with pytest.raises(ArgumentError, match="a directory of this machine"):
        write_input(csv(tmp_path), "tfrecord", "gs://bucket/out", 1)
    with pytest.raises(ArgumentError, match="at most the number of rows, 50, not 51"):
        write_input(csv(tmp_path), "tfrecord", str(tmp_path / "more"), 51)
    assert not (tmp_path / "more").exists()
