"""The table of accepted values in ``vignettes/input-pipelines.Rmd``, for files; R tests it for data in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input

pa = pytest.importorskip("pyarrow")

VIGNETTE = Path(__file__).parents[3] / "vignettes" / "input-pipelines.Rmd"

# The rows of the table: the column with the value, and the value; None is a missing one.
VALUES: dict[str, tuple[str, float | None]] = {
    "a missing feature (NA)": ("x", None),
    "NaN in a feature": ("x", np.nan),
    "an infinite feature": ("x", np.inf),
    "a feature beyond 3.4e38": ("x", 1e39),
    "a missing response (NA)": ("y", None),
    "NaN in the response": ("y", np.nan),
    "an infinite response": ("y", np.inf),
}
TEXTS = {None: "NA", np.inf: "Inf"}
Rows = dict[str, list[float | None]]


def csv(path: Path, rows: Rows) -> dict[str, Any]:
    lines = [
        ",".join(TEXTS.get(value, str(value)) for value in row)
        for row in zip(*rows.values(), strict=True)
    ]
    path.write_text("\n".join([",".join(rows), *lines, ""]))
    return {"kind": "csv", "types": dict.fromkeys(rows, "float")}


def arrow_table(rows: Rows) -> Any:
    return pa.table({name: pa.array(values, pa.float64()) for name, values in rows.items()})


def parquet_file(path: Path, rows: Rows) -> dict[str, Any]:
    from pyarrow import parquet

    parquet.write_table(arrow_table(rows), path)
    return {"kind": "parquet"}


def arrow_file(path: Path, rows: Rows) -> dict[str, Any]:
    from pyarrow import feather

    feather.write_feather(arrow_table(rows), str(path))
    return {"kind": "arrow"}


def tfrecord(path: Path, rows: Rows) -> dict[str, Any]:
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in range(2):
            found = {name: values[row] for name, values in rows.items() if values[row] is not None}
            features = {
                name: tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
                for name, value in found.items()
            }
            writer.write(
                tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
            )
    return {"kind": "tfrecord", "columns": dict.fromkeys(rows, "float32")}


# Writers of a file with two rows, by the headings of the table.
SOURCES: dict[str, tuple[Callable[[Path, Rows], dict[str, Any]], ...]] = {
    "`input_csv()`": (csv,),
    "`input_parquet()`, `input_arrow()`": (parquet_file, arrow_file),
    "`input_tfrecord()`": (tfrecord,),
}


def accepted_values() -> list[list[str]]:
    """The cells of the table, its headings first."""
    lines = VIGNETTE.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("| Value |"))
    end = lines.index("", first)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first:end]]
    return [rows[0], *rows[2:]]


CELLS = [
    pytest.param(write, value, cell, id=f"{write.__name__}-{value}")
    for value, *cells in accepted_values()[1:]
    for heading, cell in zip(accepted_values()[0][1:], cells, strict=True)
    for write in SOURCES.get(heading, ())
]


def outcome(tf: Any, source: Input, column: str, purpose: Any = "train") -> tuple[str, Any]:
    """What becomes of the second row: "an error" with it, or "kept" with its value."""
    try:
        with tf.Graph().as_default(), source.serving():
            dataset = source.input_fn(purpose, 1)()
            iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
            element = iterator.get_next()
            with tf.compat.v1.Session() as session:
                session.run(iterator.initializer)
                features, labels = session.run(element)
    except InputError as error:
        return "an error", error
    return "kept", {**features, "y": labels}[column].ravel()[1]


def test_the_table_has_every_value_and_every_file_format():
    (_, *headings), *rows = accepted_values()
    assert headings[1:] == list(SOURCES)
    assert [row[0] for row in rows] == list(VALUES)


@pytest.mark.parametrize(("write", "value", "cell"), CELLS)
def test_the_table_is_true(tmp_path: Path, tensorflow: Any, write: Any, value: str, cell: str):
    if cell == "does not exist":
        return
    path, (column, number) = tmp_path / "data", VALUES[value]
    rows: Rows = {name: [1.0, number if name == column else 2.0] for name in ("x", "y")}
    described = {**write(path, rows), "paths": str(path), "response": "y", "batch_size": 2}
    described["shuffle"] = False
    found, got = outcome(tensorflow, read(Input, described), column)
    if cell == "`impute`, or an error":
        assert found == "an error"
        source = read(Input, {**described, "impute": {"x": 7.0}})
        assert outcome(tensorflow, source, column) == ("kept", 7.0)
        return
    assert found == cell, got
    if found == "kept":
        np.testing.assert_equal(float(got), number)
    else:
        # A record of numbers is named without its column.
        assert f"`{column}`" in got.problem or str(path) in got.problem


def test_an_infinite_response_is_named_with_its_record(tmp_path: Path, tensorflow: Any):
    path = tmp_path / "data"
    described = {**tfrecord(path, {"x": [1.0, 2.0], "y": [1.0, np.inf]}), "paths": str(path)}
    source = read(Input, {**described, "response": "y", "batch_size": 2})
    _, error = outcome(tensorflow, source, "y")
    assert error.problem == (
        f'Record 2 of "{path}" has an infinite response `y`, from which nothing can be learnt.'
    )
    # Predictions do not read it.
    with source.serving():
        (features,) = source.input_fn("predict", 1)().as_numpy_iterator()
    assert features["x"].tolist() == [1.0, 2.0]
