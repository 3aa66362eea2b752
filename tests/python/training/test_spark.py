"""Rows of a real Spark: summaries, training as from memory, and prediction on its executors."""

from __future__ import annotations

import datetime as dt
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.canned_models import SGD, WORD
from support.checkpoints import assert_alike, variables
from support.inputs import Factor, in_memory
from support.spark_session import has_spark, spark_process

from tfdistribute.bridge import call
from tfdistribute.cluster.ports import free_ports
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, BackendError, InputError
from tfdistribute.inputs import Parquet, spark
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, evaluate, predict, predict_table, train
from tfdistribute.training import spark as executors

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.cluster,
    pytest.mark.skipif(not has_spark(), reason="needs pyspark and Java: tools/setup engines"),
]

ROWS = 64
random = np.random.default_rng(7)
X = random.normal(size=ROWS)
WORDS = random.integers(0, 3, size=ROWS)
DAYS = random.integers(0, 900, size=ROWS)
Y = (2 * X + WORDS).astype("float32")
LABELS = ["a", "b", "c"]
SETTINGS = RunSettings(seed=3, save_summary_steps=0)
NUMBER = {"kind": "numeric", "key": "petal length", "center": [0.1], "scale": [2.0]}


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, Any]]:
    before = set(os.environ)
    with spark_process(free_ports(1)[0]) as made:
        # pyspark sets variables when it joins a JVM.
        spark.open_table(made.address, "SELECT 1")
        yield {"classic": made.address, "connect": made.connect}
    for name in set(os.environ) - before:
        del os.environ[name]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pyarrow, parquet = (
        importlib.import_module("pyarrow"),
        importlib.import_module("pyarrow.parquet"),
    )
    begin = dt.date(1970, 1, 1)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    columns = {
        "petal length": X,
        "word": [LABELS[word] for word in WORDS],
        "day": [begin + dt.timedelta(days=int(days)) for days in DAYS],
        "at": [dt.datetime(1970, 1, 1, 0, 0, int(days) % 60) for days in DAYS],
        "gap": [None if row == 3 else np.nan if row == 5 else float(row) for row in range(ROWS)],
        "many": [[1.0]] * ROWS,
        "y": Y,
    }
    table = pyarrow.table(columns)
    index = table.schema.get_field_index("at")
    stamps = table.column("at").cast(pyarrow.timestamp("us", "UTC"))
    parquet.write_table(table.set_column(index, "at", stamps), path)
    return path


@pytest.fixture
def classic(addresses: dict[str, Any], rows: Path) -> Any:
    return spark.open_table(addresses["classic"], f"SELECT * FROM parquet.`{rows}`")


@pytest.fixture(params=[pytest.param("classic", marks=pytest.mark.full), "connect"])
def table(request: pytest.FixtureRequest, addresses: dict[str, Any], rows: Path) -> Iterator[Any]:
    if request.param == "classic":
        yield request.getfixturevalue("classic")
        return
    session = importlib.import_module("pyspark.sql.connect.session").SparkSession
    connected = session.builder.remote(addresses["connect"]).create()
    yield spark.open_table(connected, f"SELECT * FROM parquet.`{rows}`")
    connected.stop()


def model(directory: Path) -> Any:
    columns = [NUMBER, WORD]
    fields = {"feature_columns": columns, "optimizer": SGD, "model_dir": str(directory)}
    return read(Model, {"kind": "linear_regressor", **fields})


def memory(**fields: Any) -> Any:
    columns = {"petal length": X.astype("float32"), "word": Factor(WORDS, LABELS), "y": Y}
    return in_memory(columns, batch_size=8, shuffle=False, **fields)


def files(table: Any, staging: Path) -> Parquet:
    names = ("petal length", "word", "y")
    paths = spark.write_rows(table, names, str(staging))
    return Parquet(paths=tuple(paths), response="y")


def test_spark_summarizes_columns_as_in_memory(table: Any):
    assert spark.column_types(table) == {
        "petal length": "float",
        "word": "string",
        "day": "date",
        "at": "datetime",
        "gap": "float",
        "many": "Spark's array<double>",
        "y": "float",
    }
    names = ["petal length", "word", "day", "at", "gap"]
    # As R calls it.
    found = call("spark_summary", {"table": table, "names": names})["value"]
    assert found["rows"] == ROWS
    assert found["columns"].pop("word") == {"labels": LABELS}
    whole = np.array([row for row in range(ROWS) if row not in (3, 5)], dtype=float)
    numbers = {"petal length": X, "day": DAYS, "at": DAYS % 60, "gap": whole}
    for name, values in numbers.items():
        expected = {"mean": np.mean(values), "deviation": np.std(values, ddof=1)}
        assert found["columns"][name] == pytest.approx(expected), name


def test_rows_of_spark_give_the_weights_and_metrics_of_the_same_rows_in_memory(
    tensorflow: ModuleType, table: Any, tmp_path: Path
):
    staging = tmp_path / "new" / "staging"
    names = ["petal length", "word", "y"]
    # As R calls it.
    arguments = {"table": table, "names": names, "staging": str(staging)}
    paths = call("write_spark_rows", arguments)["value"]
    written = Parquet(paths=tuple(paths), response="y", batch_size=8, shuffle=False, epochs=5)
    assert written.facts().rows == ROWS
    train(model(tmp_path / "spark"), SETTINGS, written)
    train(model(tmp_path / "memory"), SETTINGS, memory(epochs=5))
    assert_alike(variables(tmp_path / "spark"), variables(tmp_path / "memory"))
    found = evaluate(model(tmp_path / "spark"), SETTINGS, written)
    expected = evaluate(model(tmp_path / "memory"), SETTINGS, memory())
    assert found == pytest.approx(expected, rel=1e-5)
    assert call("remove_spark_rows", {"paths": paths})["value"] is None
    assert list(staging.iterdir()) == []


@pytest.mark.full
def test_rows_of_spark_train_the_tabular_model_of_the_same_rows_in_memory(
    tensorflow: ModuleType, classic: Any, tmp_path: Path
):
    names = ("petal length", "word", "gap", "y")
    paths = spark.write_rows(classic, names, str(tmp_path))
    written = Parquet(paths=tuple(paths), response="y")
    gap = np.where(np.isin(np.arange(ROWS), [3, 5]), np.nan, np.arange(ROWS)).astype("float32")
    here = in_memory(
        {"petal length": X.astype("float32"), "word": Factor(WORDS, LABELS), "gap": gap, "y": Y}
    )
    found = []
    for name, source in (("spark", written), ("memory", here)):
        fields = {"model_dir": str(tmp_path / name), "hidden_units": [8], "epochs": 3}
        described = read(Model, {"kind": "tabular_regressor", **fields})
        train(described, SETTINGS, source)
        found.append(concatenate(predict(described, SETTINGS, here))["predictions"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_staging_that_spark_cannot_write_is_named(classic: Any, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write the rows into `staging`") as caught:
        files(classic, tmp_path / "file")
    assert "share" in str(caught.value.remedy)


def test_rows_that_this_machine_does_not_see_are_counted(
    classic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write = spark._write

    def lose_a_file(*arguments: Any) -> int:
        count = write(*arguments)
        next(tmp_path.glob("*/part-*")).unlink()
        return count

    monkeypatch.setattr(spark, "_write", lose_a_file)
    with pytest.raises(InputError, match=f"Spark wrote {ROWS} rows .* sees 0 rows"):
        files(classic, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def trained(tensorflow: ModuleType, tmp_path: Path) -> Any:
    made = model(tmp_path / "model")
    train(made, SETTINGS, memory(epochs=5))
    return made


def test_executors_predict_as_this_process(trained: Any, table: Any):
    predicted = predict_table(trained, SETTINGS, table.drop("gap"))
    assert predicted.columns == [*(name for name in table.columns if name != "gap"), "predictions"]
    found = predicted.select("y", "predictions").collect()
    expected = concatenate(predict(trained, SETTINGS, memory()))["predictions"].ravel()
    order = np.argsort(Y)
    found.sort(key=lambda row: row[0])
    np.testing.assert_allclose([row[1] for row in found], expected[order], rtol=1e-5)


def test_an_output_with_several_values_is_an_array(
    tensorflow: ModuleType, classic: Any, tmp_path: Path
):
    fields = {"feature_columns": [WORD], "n_classes": 3, "label_vocabulary": LABELS}
    made = read(
        Model, {"kind": "linear_classifier", "model_dir": str(tmp_path), "optimizer": SGD, **fields}
    )
    words = {"word": Factor(WORDS, LABELS), "y": Factor(WORDS, LABELS)}
    train(made, SETTINGS, in_memory(words, epochs=20))
    chosen = predict_table(made, SETTINGS, classic, predict_keys=["classes", "probabilities"])
    rows = chosen.select("word", "classes", "probabilities").collect()
    assert all(row["word"] == row["classes"] for row in rows)
    assert all(len(row["probabilities"]) == 3 for row in rows)
    with pytest.raises(ArgumentError, match="names none of this model's outputs"):
        predict_table(made, SETTINGS, classic, predict_keys=["other"])


@pytest.mark.full
def test_data_that_does_not_fit_the_model_is_named(trained: Any, classic: Any):
    cases = {
        "has no column `word`": classic.drop("word"),
        "`word` is float, and the model was trained with string": classic.selectExpr(
            "`petal length`", "y as word"
        ),
        "has a column `predictions`": classic.selectExpr("*", "1 as predictions"),
    }
    for problem, other in cases.items():
        with pytest.raises(InputError, match=problem):
            predict_table(trained, SETTINGS, other)
    gap = classic.selectExpr("gap as `petal length`", "word")
    with pytest.raises(Exception, match="`petal length` has a missing value"):
        predict_table(trained, SETTINGS, gap).collect()


def test_what_executors_lack_is_named(trained: Any, classic: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executors, "_NEEDED", "no_such_module")
    with pytest.raises(BackendError, match="has no no_such_module in the Python") as caught:
        predict_table(trained, SETTINGS, classic)
    assert "spark.pyspark.python" in str(caught.value.remedy)
