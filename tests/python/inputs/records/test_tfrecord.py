"""TFRecord files: values, sharding, and errors."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import models

from tfdistribute.checksums import crc32c
from tfdistribute.errors import ArgumentError, BackendError, InputError
from tfdistribute.inputs import Column, TFRecord
from tfdistribute.inputs.files import blocks
from tfdistribute.inputs.packed.packing import PackedColumns, pack
from tfdistribute.inputs.records.tfrecord import write_tfrecord
from tfdistribute.models import FactorCodes


def table(rows: int) -> PackedColumns:
    ids = np.arange(rows)
    codes = (ids % 2).astype(np.int32)
    return pack(
        [
            Column("id", "integer", lambda: ids),
            Column("x", "float", lambda: ids / 2),
            Column("big", "integer64", lambda: ids + 2**60),
            Column("image", "float", lambda: np.arange(rows * 4.0).reshape(rows, 2, 2), (2, 2)),
            Column(
                "kind", "string", lambda: {"codes": codes, "labels": np.array(["a", "ö"], object)}
            ),
        ]
    )


@pytest.fixture
def written(tmp_path: Path, tensorflow: ModuleType) -> str:
    write_tfrecord(table(11), str(tmp_path / "data"), 3)
    return str(tmp_path / "data")


def batches(source: TFRecord, purpose: Any, context: Any = None) -> list[Any]:
    return list(source.input_fn(purpose, 1)(context).as_numpy_iterator())


def test_written_rows_are_read(written: str):
    source = TFRecord((written,), response="x", batch_size=4)
    assert source.facts().rows == 11
    found = batches(source, "evaluate")
    features = {name: np.concatenate([f[name] for f, _ in found]) for name in found[0][0]}
    assert features["id"].tolist() == list(range(11))
    assert features["id"].dtype == np.int32
    assert features["big"].tolist() == [2**60 + row for row in range(11)]
    assert features["image"].tolist() == np.arange(44.0).reshape(11, 2, 2).tolist()
    assert [text.decode() for text in features["kind"]] == [["a", "ö"][i % 2] for i in range(11)]
    assert np.concatenate([label for _, label in found]).tolist() == [i / 2 for i in range(11)]


def test_tensorflow_reads_written_files(written: str, tensorflow: Any):
    records = tensorflow.data.TFRecordDataset(
        sorted(str(path) for path in Path(written).glob("*.tfrecord"))
    )
    spec = {"x": tensorflow.io.FixedLenFeature((), tensorflow.float32)}
    read = [
        float(tensorflow.io.parse_single_example(record, spec)["x"])
        for record in records.as_numpy_iterator()
    ]
    assert read == [row / 2 for row in range(11)]


def test_files_of_other_programs_are_read_by_their_columns(tmp_path: Path, tensorflow: Any):
    with tensorflow.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        for row in range(5):
            feature = tensorflow.train.Feature(
                int64_list=tensorflow.train.Int64List(value=[row, -row])
            )
            features = tensorflow.train.Features(feature={"pair": feature})
            writer.write(tensorflow.train.Example(features=features).SerializeToString())
    source = TFRecord((str(tmp_path / "*.tfrecord"),), columns={"pair": "int64[2]"})
    (batch,) = batches(source, "predict")
    assert batch["pair"].tolist() == [[row, -row] for row in range(5)]


@pytest.mark.parametrize("pipelines", [1, 2, 3, 5])
def test_every_row_is_read_once_and_workers_agree_on_steps(
    pipelines: int, written: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    (Path(written) / "empty.tfrecord").touch()
    paths = (f"{written}/*.tfrecord",)
    source = TFRecord(paths, batch_size=2 * pipelines, epochs=2)
    shares = [
        batches(
            source,
            "train",
            SimpleNamespace(
                num_input_pipelines=pipelines,
                input_pipeline_id=each,
                num_replicas_in_sync=pipelines,
            ),
        )
        for each in range(pipelines)
    ]
    assert len({len(share) for share in shares}) == 1
    read = Counter(value for batch in itertools.chain(*shares) for value in batch["id"].tolist())
    repeated = read - Counter([*range(11), *range(11)])
    # A worker without rows in the last step repeats a row, which counts nothing: test_sharding_contract.py.
    assert repeated.total() < pipelines
    assert read - repeated == Counter([*range(11), *range(11)])


def test_a_file_that_is_cut_off_is_named_with_the_record(written: str):
    shard = Path(written, "part-00001-of-00003.tfrecord")
    shard.write_bytes(shard.read_bytes()[:-7])
    with pytest.raises(InputError, match=r"part-00001-of-00003.tfrecord\" is cut off in record 4"):
        TFRecord((written,)).facts()


def test_other_files_than_tfrecords_are_refused(tmp_path: Path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    with pytest.raises(InputError, match="or is not a TFRecord file"):
        TFRecord((str(tmp_path / "a.csv"),), columns={"x": "float32"}).facts()


def example(tf: Any, **columns: Any) -> bytes:
    def feature(values: list[Any]) -> Any:
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        if isinstance(values[0], int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    features = {name: feature(values) for name, values in columns.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"x": [1.0]}, "has no value in the column `y`"),
        ({"x": [1.0], "y": [b"a"]}, "holds strings in the column `y`, not whole numbers"),
        ({"x": [1.0, 2.0], "y": [1]}, "holds 2 values in the column `x`, not 1"),
        (None, "is not a tf.train.Example message"),
    ],
)
def test_a_record_that_lacks_a_column_is_named(
    bad: Any, message: str, tmp_path: Path, tensorflow: Any
):
    tf = tensorflow
    for part, place in (("a", None), ("b", 7)):
        with tf.io.TFRecordWriter(str(tmp_path / part)) as writer:
            for row in range(10):
                good = example(tf, x=[float(row)], y=[row])
                wrong = b"\xff" if bad is None else example(tf, **bad)
                writer.write(wrong if row == place else good)
    columns = {"x": "float32", "y": "int64"}
    source = TFRecord((f"{tmp_path}/*",), response="y", batch_size=4, columns=columns)
    found = rf'Record 8 of "{tmp_path}/b" {message}'
    with pytest.raises(InputError, match=found), source.serving():
        batches(source, "train")
    if bad == {"x": [1.0]}:
        # Prediction does not read the response.
        with source.serving():
            assert sum(len(batch["x"]) for batch in batches(source, "predict")) == 20


def test_a_default_of_the_model_fills_in_for_a_record_without_the_feature(
    tmp_path: Path, tensorflow: Any
):
    tf = tensorflow
    with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        for row in range(8):
            lacks = {} if row % 2 else {"x": [float(row), 1.0], "n": [row]}
            writer.write(example(tf, y=[float(row)], **lacks))
    columns = {"x": "float32[2]", "n": "int32", "y": "float32"}
    source = TFRecord((f"{tmp_path}/a",), response="y", batch_size=8, columns=columns)
    fields = {"default_value": [0.5]}
    number = {"kind": "numeric", "key": "n", "default_value": [7]}
    buckets = {"kind": "bucketized", "source_column": number, "boundaries": [3.0]}
    pair = {"kind": "numeric", "key": "x", "shape": [2]}
    model = models.model("linear_regressor", feature_columns=[{**pair, **fields}, buckets])
    given = FactorCodes().accepting(source, model, needs_label=True)
    (batch,) = batches(given, "predict")
    assert batch["x"].tolist() == [[0.5, 0.5] if row % 2 else [row, 1.0] for row in range(8)]
    assert batch["n"].tolist() == [7 if row % 2 else row for row in range(8)]
    # The columns without a default are still named.
    strict = models.model("linear_regressor", feature_columns=[pair, buckets])
    given = FactorCodes().accepting(source, strict, needs_label=True)
    text = "Record 2 .* has no value in the column `x`"
    with pytest.raises(InputError, match=text), given.serving():
        batches(given, "predict")


@pytest.mark.parametrize("part", ["length", "checksum of the length", "message", "checksum"])
def test_a_damaged_record_is_refused_by_its_checksum(part: str, tmp_path: Path, tensorflow: Any):
    path = tmp_path / "a.tfrecord"
    with tensorflow.io.TFRecordWriter(str(path)) as writer:
        for row in range(5):
            writer.write(example(tensorflow, x=[float(row)]))
    content = bytearray(path.read_bytes())
    record = len(content) // 5
    # The last byte of a message is that of its number.
    at = {"length": 0, "checksum of the length": 8, "message": record - 5, "checksum": record - 1}
    content[2 * record + at[part]] ^= 1
    path.write_bytes(content)
    source = TFRecord((str(path),), columns={"x": "float32"})
    with (
        pytest.raises(InputError, match="cut off" if part == "length" else "Record 3") as caught,
        source.serving(),
    ):
        batches(source, "predict")
    unverified = TFRecord((str(path),), columns={"x": "float32"}, verify=False)
    if part != "length":
        assert "its checksum does not match" in caught.value.problem
        assert "verify = FALSE" in str(caught.value.remedy)
        (read,) = batches(unverified, "predict")
        assert (read["x"].tolist() == [0, 1, 2, 3, 4]) == (part != "message")


def test_a_missing_package_for_checksums_is_named(written: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    crc32c.cache_clear()
    source = TFRecord((written,))
    with pytest.raises(BackendError, match="google-crc32c") as caught, source.serving():
        batches(source, "predict")
    assert "pip install google-crc32c" in str(caught.value.remedy)
    crc32c.cache_clear()
    assert len(batches(TFRecord((written,), verify=False), "predict")) == 1


def test_an_empty_file_has_no_records(tmp_path: Path):
    path = tmp_path / "empty.tfrecord"
    path.touch()
    source = TFRecord((str(path),), response="y", columns={"x": "float32", "y": "float32"})
    with pytest.raises(InputError, match=f'"{path}" has no records: it has 0 bytes'):
        source.facts()


def test_a_row_cannot_hold_more_values_than_its_file_has_bytes(tmp_path: Path, tensorflow: Any):
    path = tmp_path / "a.tfrecord"
    with tensorflow.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(tensorflow, x=[1.0]))
    with pytest.raises(InputError, match="gives `x` 1,000,000,000 values per row"):
        TFRecord((str(path),), columns={"x": "float32[1000, 1000000]"}).facts()
    for shape in ("1000000,1000000,1000000", "0", "9" * 5000):
        with pytest.raises(ArgumentError, match="`columns.x`"):
            TFRecord((str(path),), columns={"x": f"float32[{shape}]"}).facts()


def test_without_index_and_columns_nothing_is_guessed(tmp_path: Path):
    (tmp_path / "a.tfrecord").write_bytes(b"-")
    with pytest.raises(InputError, match="There is no index beside"):
        TFRecord((str(tmp_path / "a.tfrecord"),)).facts()


def test_date_times_are_refused(tmp_path: Path):
    times = pack([Column("at", "datetime", lambda: np.array([0.5]))])
    with pytest.raises(InputError, match="`at` holds date-times"):
        write_tfrecord(times, str(tmp_path / "data"), 1)
