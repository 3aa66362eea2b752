"""Parquet and Arrow files: blocks, types, and errors with row numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.table_inputs import refusal, refusal_when_read, rows_of

from tfdistribute.descriptions import read
from tfdistribute.errors import BackendError
from tfdistribute.inputs import Input, audit_sharding
from tfdistribute.inputs.sharding_audit import read_batches
from tfdistribute.inputs.tables import arrow_columns, numbers
from tfdistribute.storage import buckets

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
fs = pytest.importorskip("pyarrow.fs")
parquet = pytest.importorskip("pyarrow.parquet")

KINDS = ("parquet", "arrow")


def write(kind: str, path: Path, table: Any, unit: int = 10) -> Path:
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=unit)
    else:
        feather.write_feather(table, path, chunksize=unit)
    return path


def table_input(kind: str, *paths: Path, **fields: Any) -> Input:
    return read(Input, {"kind": kind, "paths": [str(path) for path in paths], **fields})


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def made(kind: str, tmp_path: Path) -> Callable[..., Path]:
    def make(columns: dict[str, Any], name: str = "data", unit: int = 10) -> Path:
        return write(kind, tmp_path / name, pa.table(columns), unit)

    return make


def test_each_type_is_read_as_from_memory(kind: str, made: Callable[..., Path], tensorflow: Any):
    day = dt.date(2024, 1, 2)
    time = dt.datetime(2024, 1, 1, 0, 0, 1, 500000)
    columns = {
        "f64": pa.array([0.5, 2.0]),
        "f32": pa.array([0.25, 3.0], pa.float32()),
        "decimal": pa.array([Decimal("1.5"), Decimal("2.5")]),
        "i8": pa.array([1, -2], pa.int8()),
        "i32": pa.array([1, 2], pa.int32()),
        "u32": pa.array([1, 2**32 - 1], pa.uint32()),
        "i64": pa.array([2**53 + 1, -(2**53) - 1], pa.int64()),
        "ok": pa.array([True, False]),
        "s": pa.array(["a", "\u00fc"]),
        "label": pa.array(["u", "v"]).dictionary_encode(),
        "day": pa.array([day, dt.date(1969, 12, 31)]),
        "time": pa.array([time, time], pa.timestamp("ns", "UTC")),
        "pair": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
    }
    source = table_input(kind, made(columns))
    facts = source.facts()
    assert facts.features is not None
    assert {name: column.type for name, column in facts.features.items()} == {
        "f64": "float",
        "f32": "float",
        "decimal": "float",
        "i8": "integer",
        "i32": "integer",
        "u32": "integer64",
        "i64": "integer64",
        "ok": "logical",
        "s": "string",
        "label": "string",
        "day": "date",
        "time": "datetime",
        "pair": "float",
    }
    assert facts.features["pair"].shape == (2,)
    found = rows_of(tensorflow, source)
    assert found == {
        "f64": [0.5, 2.0],
        "f32": [0.25, 3.0],
        "decimal": [1.5, 2.5],
        "i8": [1, -2],
        "i32": [1, 2],
        "u32": [1, 2**32 - 1],
        "i64": [2**53 + 1, -(2**53) - 1],
        "ok": [1, 0],
        "s": [b"a", "\u00fc".encode()],
        "label": [b"u", b"v"],
        "day": [19724.0, -1.0],
        "time": [1704067201.5, 1704067201.5],
        "pair": [[1.0, 2.0], [3.0, 4.0]],
    }


def test_blocks_of_several_files_are_read_in_order_and_shuffled_for_training(
    kind: str, made: Callable[..., Path], tensorflow: Any
):
    first = made({"x": np.arange(25), "y": np.arange(25) * 2.0}, "1")
    empty = made({"x": np.arange(0), "y": np.arange(0) * 2.0}, "2")
    last = made({"y": np.arange(25, 31) * 2.0, "x": np.arange(25, 31)}, "3")
    source = table_input(kind, first, empty, last, response="y", batch_size=8)
    assert source.facts().rows == 31
    found = rows_of(tensorflow, source)
    assert found["x"] == list(range(31))
    assert found["label"] == [2.0 * x for x in range(31)]
    trained = rows_of(tensorflow, source, "train")
    assert sorted(trained["x"]) == list(range(31))
    assert trained["x"] != list(range(31))
    assert trained["label"] == [2.0 * x for x in trained["x"]]
    assert list(rows_of(tensorflow, source, "predict")) == ["x"]
    assert "have no rows" in refusal(table_input(kind, empty)).problem


def test_chosen_columns_and_given_types_are_used(
    kind: str, made: Callable[..., Path], tensorflow: Any
):
    path = made({"a.b": [1, 2], "rest": [[1], [2]], "n": ["1", "2"], "x": [0.0, 1.0]})
    source = table_input(kind, path, features=("n", "a.b"), types={"n": "float", "a.b": "string"})
    assert rows_of(tensorflow, source) == {"n": [1.0, 2.0], "a.b": [b"1", b"2"]}
    error = refusal(table_input(kind, path))
    assert "`rest`" in error.problem
    assert "TensorFlow does not support" in error.problem


def test_missing_values_are_refused_by_column_and_row(
    kind: str, made: Callable[..., Path], tensorflow: Any
):
    columns = {
        "x": pa.array([1.0] * 12 + [float("nan")]),
        "i": pa.array([None] + [2] * 12, pa.int32()),
        "s": pa.array(["a"] * 11 + [None, "b"]),
        "d": pa.array([None] + [dt.date(1970, 1, 2)] * 12),
    }
    if kind == "arrow":
        # pyarrow cannot read missing lists from a Parquet file.
        columns["v"] = pa.array([None] + [[1.0, 2.0]] * 12, pa.list_(pa.float64(), 2))
    path = made(columns)
    rows = {"x": 13, "i": 1, "s": 12, "d": 1, "v": 1}
    for name, row in ((name, rows[name]) for name in columns):
        error = refusal_when_read(tensorflow, table_input(kind, path, features=(name,)))
        assert error.problem == (
            f'The column `{name}` has a missing value in row {row} of "{path}".'
        )
        assert f"impute = list(`{name}` = " in str(error)
    fillings = {"x": 0.5, "i": 7, "s": "none", "d": 3, "v": 0}
    fillings = {name: fillings[name] for name in columns}
    found = rows_of(tensorflow, table_input(kind, path, impute=fillings))
    assert found["x"][-1] == 0.5
    assert found["i"][:2] == [7, 2]
    assert found["s"][-2:] == [b"none", b"b"]
    assert found["d"][:2] == [3.0, 1.0]
    if kind == "arrow":
        assert found["v"][:2] == [[0.0, 0.0], [1.0, 2.0]]


def test_bad_rows_are_skipped_counted_and_reported(
    kind: str, made: Callable[..., Path], tensorflow: Any
):
    columns = {
        "x": [1.0, None, 3.0, 1e39, 5.0, 6.0, 7.0],
        "n": ["1", "2", "many", "4", "5", None, "7"],
        "s": ["a", "b", "c", "d", None, "f", "g"],
        "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, float("inf")],
    }
    told: list[Any] = []
    path = made(columns)
    source = table_input(
        kind,
        path,
        response="y",
        types={"n": "integer"},
        impute={"s": "none"},
        on_bad_row="skip",
        on_skipped=lambda count, places: told.append((count, places)),
    )
    assert source.facts().rows == 2
    found = rows_of(tensorflow, source)
    assert found["x"] == [1.0, 5.0]
    assert found["n"] == [1, 5]
    assert found["s"] == [b"a", b"none"]
    ((count, places),) = told
    assert count == 5
    assert places == [
        f'row 2 of "{path}" (no value in `x`)',
        f'row 3 of "{path}" (no value of its type in `n`)',
        f'row 4 of "{path}" (no value of its type in `x`)',
        f'row 6 of "{path}" (no value in `n`)',
        f'row 7 of "{path}" (`y` is infinite)',
    ]
    assert audit_sharding(source, 2).ok
    nothing = table_input(kind, made({"x": [None, 1e39]}), on_bad_row="skip")
    with pytest.warns(UserWarning, match="Skipped 2 rows"):
        assert "have no rows" in refusal(nothing).problem


def test_files_that_differ_are_refused_by_name(kind: str, made: Callable[..., Path]):
    first = made({"x": [1.0], "y": [1]}, "1")
    other = made({"x": ["a"], "y": [1]}, "2")
    third = made({"x": [1.0]}, "3")
    error = refusal(table_input(kind, first, other))
    assert error.problem == f'The column `x` is string in "{other}", and float in "{first}".'
    error = refusal(table_input(kind, first, first.with_name("1"), third, response="y"))
    assert error.problem == f'The file "{third}" has no column `y`.'
    assert "no column `z`" in refusal(table_input(kind, first, response="z")).problem


def test_files_of_other_formats_are_refused_by_name(
    kind: str, made: Callable[..., Path], tmp_path: Path
):
    for content in (b"", b"PAR1", b"ARROW1", b"x,y\n1,2\n", made({"x": [1.0]}).read_bytes()[:-9]):
        path = tmp_path / "broken"
        path.write_bytes(content)
        error = refusal(table_input(kind, path))
        assert f'The file "{path}" cannot be read as' in error.problem
    assert "does not exist" in refusal(table_input(kind, tmp_path / "none")).problem


def test_the_remedy_for_another_format_is_the_function_that_reads_it(tmp_path: Path):
    path = tmp_path / "other"
    for content, function in ((b"x,y\n1,2\n", "input_csv()"), (b"ARROW1\0\0", "input_arrow()")):
        path.write_bytes(content)
        assert function in str(refusal(table_input("parquet", path)).remedy)


def test_a_directory_means_its_files(
    kind: str, made: Callable[..., Path], tmp_path: Path, tensorflow: Any
):
    for number, name in enumerate(("data/part-1", "data/part-0")):
        (tmp_path / "data").mkdir(exist_ok=True)
        made({"x": [float(number)]}, name)
    (tmp_path / "data" / "_SUCCESS").touch()
    (tmp_path / "data" / ".part-0.crc").touch()
    assert rows_of(tensorflow, table_input(kind, tmp_path / "data"))["x"] == [1, 0]


def test_a_directory_without_files_or_with_directories_is_refused(kind: str, tmp_path: Path):
    assert "has no files" in refusal(table_input(kind, tmp_path)).problem
    (tmp_path / "year=2020").mkdir()
    error = refusal(table_input(kind, tmp_path))
    assert f'has directories in it, such as "{tmp_path}/year=2020"' in error.problem
    assert f'"{tmp_path}/*/*"' in str(error.remedy)


def test_damage_inside_a_file_is_reported_when_it_is_read(
    kind: str, tmp_path: Path, tensorflow: Any
):
    table = pa.table({"x": np.random.default_rng(1).normal(size=50_000)})
    path = tmp_path / "damaged"
    if kind == "parquet":
        parquet.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[1000:5000] = bytes(4000)
    source = table_input(kind, path)
    path.write_bytes(content)
    with pytest.raises(Exception, match="damaged") as caught:
        rows_of(tensorflow, source)
    assert caught.type.__name__ == "InputError"


def test_a_file_that_changes_is_noticed(kind: str, made: Callable[..., Path], tensorflow: Any):
    source = table_input(kind, made({"x": [1.0, 2.0]}))
    source.facts()
    made({"x": [1.0, 2.0, 3.0]})
    error = refusal_when_read(tensorflow, source)
    assert "was changed while it was read" in error.problem


def test_values_that_do_not_fit_are_refused(kind: str, made: Callable[..., Path], tensorflow: Any):
    path = made({"x": [1.0, 1e39], "y": [0.0, float("inf")], "n": ["1", "many"]})
    error = refusal_when_read(tensorflow, table_input(kind, path, features=("x",)))
    assert error.problem.startswith("The column `x` has a value beyond 3.4e38")
    assert f'row 2 of "{path}"' in error.problem
    error = refusal_when_read(
        tensorflow, table_input(kind, path, features=("n",), response="y", types={"n": "string"})
    )
    assert f'The response `y` is infinite in row 2 of "{path}"' in error.problem
    error = refusal_when_read(
        tensorflow, table_input(kind, path, features=("n",), types={"n": "float"})
    )
    assert "`n` has a value that is not float" in error.problem


@pytest.mark.parametrize("purpose", ["predict", "train"])
def test_large_blocks_are_copied_in_parts(
    kind: str,
    purpose: Any,
    made: Callable[..., Path],
    tensorflow: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    """Blocks of 40 rows in parts of 7, each shared by three workers."""
    monkeypatch.setattr(arrow_columns, "BATCH_BYTES", 7 * 4)
    source = table_input(kind, made({"x": np.arange(100.0)}, unit=40), batch_size=6)
    found: list[float] = []
    for worker in range(3):
        context = SimpleNamespace(
            num_input_pipelines=3, input_pipeline_id=worker, num_replicas_in_sync=3
        )
        for features in source.input_fn(purpose, 1)(context).as_numpy_iterator():
            found += features["x"].tolist()
    assert (found if purpose == "predict" else sorted(found)) == np.arange(100.0).tolist()


def test_an_error_in_a_later_part_names_its_row(
    kind: str, made: Callable[..., Path], tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(arrow_columns, "BATCH_BYTES", 7 * 4)
    values = [None if row == 88 else float(row) for row in range(100)]
    error = refusal_when_read(tensorflow, table_input(kind, made({"x": values}, unit=40)))
    assert "missing value in row 89 of" in error.problem


def test_columns_without_missing_values_are_not_read_one_by_one(
    kind: str, made: Callable[..., Path], tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(arrow_columns.TableColumns, "_read_column", None)
    path = made({"a": [1.5, 2.5], "b": [3, 4], "c": [5.0, 6.0], "d": [7, 8]})
    found = rows_of(tensorflow, table_input(kind, path))
    assert found == {"a": [1.5, 2.5], "b": [3, 4], "c": [5, 6], "d": [7, 8]}


@pytest.mark.parametrize("has_tensors", [True, False])
def test_many_columns_are_read_as_each_of_them(
    has_tensors: bool,
    kind: str,
    made: Callable[..., Path],
    tensorflow: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    """Columns of one type are not adjacent, and two thirds of the parts have a missing value."""
    monkeypatch.setattr(arrow_columns, "BATCH_BYTES", 4 * 500)
    if not has_tensors:
        # An old pyarrow.
        monkeypatch.setattr(numbers, "hasattr", lambda *_: False, raising=False)
    random, columns = np.random.default_rng(1), {}
    for number in range(60):
        values = random.random(20)
        columns[f"c{number:03}"] = (
            pa.array(values, pa.float32()),
            pa.array(values),
            pa.array(values > 0.5),
            pa.array((values * 2**31).astype(np.int32)),
            pa.array(2**53 + (values * 2**60).astype(np.int64)),
            pa.array(np.where(values > 0.9, None, values), pa.float64(), from_pandas=True),
        )[number % 6]
    impute = {f"c{number:03}": 7.0 for number in range(5, 60, 6)}
    path = made(columns, "numbers")
    found = rows_of(tensorflow, table_input(kind, path, impute=impute))
    for name, column in columns.items():
        is_float = pa.types.is_floating(column.type)
        wanted = column.fill_null(7.0).cast(pa.float32()) if is_float else column
        assert found[name] == [
            float(each) if is_float else int(each) for each in wanted.to_pylist()
        ]
    error = refusal_when_read(tensorflow, table_input(kind, path))
    assert error.problem.startswith("The column `c011` has a missing value in row 2 of")
    columns["c025"] = pa.array([0.0] * 14 + [1e39] + [0.0] * 5)
    large = made(columns, "large")
    error = refusal_when_read(tensorflow, table_input(kind, large, impute=impute))
    assert "`c025` has a value beyond 3.4e38, the largest 32-bit number, in row 15 of" in str(error)


@pytest.mark.parametrize("workers", [2, 5])
def test_every_row_is_read_once_by_any_number_of_workers(
    kind: str, workers: int, made: Callable[..., Path], tensorflow: Any
):
    files = [
        made({"x": np.arange(rows) % 7, "y": np.arange(rows) % 3}, str(rows))
        for rows in (97, 0, 1, 13)
    ]
    for paths in (files[:1], files):
        audit = audit_sharding(
            table_input(kind, *paths, response="y", batch_size=60, epochs=2), workers
        )
        assert audit.ok
        assert audit.rows == 2 * (97 if len(paths) == 1 else 111)
    assert audit_sharding(table_input(kind, files[2]), workers, replicas=None).ok


def test_files_of_other_file_systems_are_read(kind: str, tensorflow: Any, tmp_path: Path):
    sink = pa.BufferOutputStream()
    table = pa.table({"x": np.arange(30)})
    if kind == "parquet":
        parquet.write_table(table, sink)
    else:
        feather.write_feather(table, sink, compression="uncompressed")
    (tmp_path / "data").write_bytes(sink.getvalue().to_pybytes())
    source = read(Input, {"kind": kind, "paths": f"file://{tmp_path}/data"})
    assert rows_of(tensorflow, source)["x"] == list(range(30))


def test_without_pyarrow_the_error_has_a_remedy(
    kind: str, made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    path = made({"x": [1.0]})

    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("tfdistribute.storage.buckets.importlib.import_module", missing)
    with pytest.raises(BackendError, match="pyarrow cannot be imported") as caught:
        table_input(kind, path).facts()
    assert "install_tfdistribute()" in str(caught.value)


def test_a_remote_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str):
    numbers = np.random.default_rng(1).normal(size=400_000)
    table = pa.table({"x": numbers, "y": numbers})
    content = write(kind, tmp_path / "data", table, unit=40_000).read_bytes()
    folder = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(buckets, "_found", lambda *_: buckets.Bucket(folder))
    path = "s3://data"
    source: Any = read(Input, {"kind": kind, "paths": [path], "response": "y"})._open()
    sizes: list[int] = []
    whole_read = buckets._BucketFile.readinto

    def noted(self: Any, buffer: Any) -> int:
        sizes.append(whole_read(self, buffer))
        return sizes[-1]

    monkeypatch.setattr(buckets._BucketFile, "readinto", noted)
    batch = next(iter(source.batches(source.blocks[3])))
    assert 0 < sum(sizes) < len(content) / 4
    np.testing.assert_array_equal(batch.column(0)[:5], numbers[120_000:120_005])


@pytest.mark.usefixtures("tensorflow")
def test_batches_of_megabytes_hold_the_same_rows_as_small_ones(
    kind: str, made: Callable[..., Path]
):
    """A batch of more than 1 MB is not cut out of a chunk of several."""
    values = np.arange(1300 * 600, dtype=np.float32).reshape(1300, 600)
    lists = pa.FixedSizeListArray.from_arrays(values.ravel(), 600)
    labels = pa.array([f"label {row % 7}" for row in range(1300)])
    columns = {"x": lists, "label": labels.dictionary_encode(), "y": pa.array(np.arange(1300))}
    path = made(columns, unit=250)

    def read_rows(batch_size: int, **fields: Any) -> tuple[list[int], list[Any]]:
        source = table_input(kind, path, batch_size=batch_size, response="y", seed=3, **fields)
        batches = list(read_batches(source, "train", 0))
        rows = [
            (int(y), x[0], x[-1], label)
            for features, labels in batches
            for y, x, label in zip(labels, features["x"], features["label"], strict=True)
        ]
        return [len(labels) for _, labels in batches], rows

    sizes, rows = read_rows(512)
    assert sizes == [512, 512, 276]
    assert rows == read_rows(10)[1]
    assert [row[0] for row in rows] != list(range(1300))
    expected = [(y, x[0], x[-1], b"label %d" % (y % 7)) for y, x in enumerate(values)]
    assert sorted(rows) == expected
    assert read_rows(512, shuffle=False)[1] == expected
