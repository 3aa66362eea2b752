"""Fixed-length records: values, order, sharding, and errors."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistribute.errors import ArgumentError, InputError, ShardingError
from tfdistribute.inputs import Column, FixedLength
from tfdistribute.inputs.files import blocks
from tfdistribute.inputs.packed.packing import PackedColumns, pack
from tfdistribute.inputs.records.fixed_length import write_fixed_length


def table(rows: int) -> PackedColumns:
    ids = np.arange(rows)
    codes = (ids % 3).astype(np.int32)
    return pack(
        [
            Column("id", "integer", lambda: ids),
            Column("x", "float", lambda: ids / 2),
            Column("big", "integer64", lambda: ids + 2**60),
            Column("image", "float", lambda: np.arange(rows * 4.0).reshape(rows, 2, 2), (2, 2)),
            Column(
                "kind",
                "string",
                lambda: {"codes": codes, "labels": np.array(["a", "ö", "c"], object)},
                levels=("a", "ö", "c"),
            ),
        ]
    )


def context(pipelines: int, pipeline: int, replicas: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        num_input_pipelines=pipelines,
        input_pipeline_id=pipeline,
        num_replicas_in_sync=replicas or pipelines,
    )


def batches(source: FixedLength, purpose: Any = "train", **where: Any) -> list[Any]:
    given = context(**where) if where else None
    return list(source.input_fn(purpose, 1)(given).as_numpy_iterator())


def ids(found: list[Any]) -> list[int]:
    return [value for batch in found for value in batch["id"].tolist()]


@pytest.fixture
def written(tmp_path: Path) -> str:
    write_fixed_length(table(10), str(tmp_path / "data"), 3)
    return str(tmp_path / "data")


def test_written_rows_are_read(written: str, tensorflow: ModuleType):
    source = FixedLength((written,), response="x", batch_size=4)
    facts = source.facts()
    assert facts.features is not None
    assert list(facts.features) != []
    assert facts.features["kind"].levels == ("a", "ö", "c")
    assert (facts.rows, facts.label_range) == (10, (0.0, 4.5))
    found = batches(source, "evaluate")
    assert [len(label) for _, label in found] == [4, 4, 2]
    features = {name: np.concatenate([f[name] for f, _ in found]) for name in found[0][0]}
    assert features["id"].tolist() == list(range(10))
    assert features["big"].tolist() == [2**60 + row for row in range(10)]
    assert features["image"].tolist() == np.arange(40.0).reshape(10, 2, 2).tolist()
    assert [text.decode() for text in features["kind"]] == [
        ["a", "ö", "c"][i % 3] for i in range(10)
    ]
    assert np.concatenate([label for _, label in found]).tolist() == [i / 2 for i in range(10)]


def test_some_columns_are_read_and_predicting_drops_the_response(
    written: str, tensorflow: ModuleType
):
    source = FixedLength((written,), features=("id", "kind"), response="x")
    (batch,) = batches(source, "predict")
    assert sorted(batch) == ["id", "kind"]
    assert batch["id"].tolist() == list(range(10))


def test_files_without_an_index_are_read_by_types(tmp_path: Path, tensorflow: ModuleType):
    records = np.zeros(3, np.dtype([("y", "u1"), ("x", "<f8", (2,)), ("z", "<i2")]))
    records["y"], records["x"], records["z"] = [1, 2, 255], [[1, 2], [3, 4], [5, 6]], [-1, 0, 1]
    records.tofile(tmp_path / "a.bin")
    columns = {"y": "uint8", "x": "float64[2]", "z": "int16"}
    source = FixedLength((str(tmp_path / "*.bin"),), response="y", columns=columns)
    ((features, label),) = batches(source, "evaluate")
    assert label.tolist() == [1, 2, 255]
    assert features["x"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert features["x"].dtype == np.float32
    assert features["z"].tolist() == [-1, 0, 1]


@pytest.mark.parametrize("pipelines", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("rows", [7, 31])
def test_every_row_is_read_once_and_workers_agree_on_steps(
    pipelines: int, rows: int, tmp_path: Path, tensorflow: ModuleType
):
    write_fixed_length(table(rows), str(tmp_path / "data"), 2)
    (tmp_path / "data" / "empty.bin").touch()
    paths = (str(tmp_path / "data" / "*.bin"),)
    source = FixedLength(paths, batch_size=pipelines * 2, num_epochs=2)
    shares = [batches(source, pipelines=pipelines, pipeline=each) for each in range(pipelines)]
    assert len({len(share) for share in shares}) == 1
    read = sorted(itertools.chain.from_iterable(ids(share) for share in shares))
    assert read == sorted([*range(rows), *range(rows)])


def test_workers_of_a_parameter_server_read_every_row_once(written: str, tensorflow: ModuleType):
    source = FixedLength((written,), batch_size=3)
    shares = [batches(source, pipelines=4, pipeline=each, replicas=1) for each in range(4)]
    assert sorted(itertools.chain.from_iterable(map(ids, shares))) == list(range(10))


def test_fewer_rows_than_workers_are_refused(tmp_path: Path, tensorflow: ModuleType):
    write_fixed_length(table(1), str(tmp_path / "data"), 1)
    with pytest.raises(ShardingError, match="1 example cannot be split over 2 replicas"):
        batches(FixedLength((str(tmp_path / "data"),), batch_size=2), pipelines=2, pipeline=0)


def test_the_shuffle_mixes_blocks_differs_by_epoch_and_repeats(
    tmp_path: Path, tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 400)
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 4000)
    write_fixed_length(table(1000), str(tmp_path / "data"), 3)
    source = FixedLength((str(tmp_path / "data"),), batch_size=50, num_epochs=2)
    order = ids(batches(source))
    first, second = order[:1000], order[1000:]
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second
    assert order == ids(batches(source))
    # Position and row are uncorrelated: under a random order, |r| > 0.2 has a probability of 1e-9.
    assert abs(np.corrcoef(first, np.arange(1000))[0, 1]) < 0.2
    assert ids(batches(source, "predict")) == list(range(1000))


def test_a_file_that_changes_while_it_is_read_is_an_error(written: str, tensorflow: ModuleType):
    source = FixedLength((written,), batch_size=5)
    dataset = source.input_fn("evaluate", 1)()
    shard = Path(written, "part-00000-of-00003.bin")
    content = shard.read_bytes()
    source.facts()
    shard.write_bytes(content + content)
    with pytest.raises(InputError, match="part-00000-of-00003.bin.* was changed"), source.serving():
        list(dataset.as_numpy_iterator())


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ("missing.bin", 'missing.bin" does not exist'),
        ("*.none", 'The pattern ".*none" in `paths` matches no file'),
        (".", "is a directory"),
        ("empty.bin", "The files have no rows"),
        ("cut.bin", "record 2 is cut off"),
    ],
)
def test_files_that_cannot_be_read_are_named(paths: str, message: str, tmp_path: Path):
    (tmp_path / "empty.bin").touch()
    (tmp_path / "cut.bin").write_bytes(b"123456")
    with pytest.raises(InputError, match=message):
        FixedLength((str(tmp_path / paths),), columns={"x": "float32"}).facts()


def test_without_index_and_types_nothing_is_guessed(tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"1234")
    with pytest.raises(InputError, match="There is no index beside"):
        FixedLength((str(tmp_path / "a.bin"),)).facts()
    with pytest.raises(ArgumentError, match='`columns.x` is "complex", which is not a dtype'):
        FixedLength((str(tmp_path / "a.bin"),), columns={"x": "complex"}).facts()


def test_unknown_columns_are_named(written: str):
    with pytest.raises(InputError, match="`features` names `w`, but the files have no such column"):
        FixedLength((written,), features=("w",)).facts()


def test_writing_continues_after_an_interruption(tmp_path: Path):
    path, told = tmp_path / "data", list[int]()

    def interrupt(event: dict[str, int]) -> None:
        told.append(event["shard"])
        if event["shard"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_fixed_length(table(10), str(path), 3, interrupt)
    with pytest.raises(InputError, match="are not finished"):
        FixedLength((str(path),)).facts()
    first = (path / "part-00000-of-00003.bin").stat()
    write_fixed_length(table(10), str(path), 3)
    assert (path / "part-00000-of-00003.bin").stat().st_mtime_ns == first.st_mtime_ns
    assert json.loads((path / "index.json").read_text())["rows"] == {
        f"part-0000{number}-of-00003.bin": size for number, size in enumerate([4, 3, 3])
    }
    with pytest.raises(ArgumentError, match="holds finished files already"):
        write_fixed_length(table(10), str(path), 3)


def test_other_data_does_not_keep_the_shards_of_the_first(tmp_path: Path):
    path = tmp_path / "data"

    def interrupt(event: dict[str, int]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_fixed_length(table(10), str(path), 2, interrupt)
    write_fixed_length(table(12), str(path), 2)
    assert FixedLength((str(path),)).facts().rows == 12
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(ArgumentError, match="is not empty"):
        write_fixed_length(table(10), str(tmp_path / "other"), 2)


def test_a_number_beyond_32_bits_is_refused_with_its_record(tmp_path: Path, tensorflow: Any):
    path = str(tmp_path / "a.bin")
    np.array([[0.5, 1.5], [np.inf, -1e39], [2.5, 3.5]]).tofile(path)
    source = FixedLength((path,), columns={"x": "float64[2]"})
    with (
        pytest.raises(InputError, match=f'Record 2 of "{path}" has a number beyond 3.4e38'),
        source.serving(),
    ):
        batches(source, "predict")
    np.array([[0.5, 1.5], [np.inf, -1.0]]).tofile(path)
    (batch,) = batches(FixedLength((path,), columns={"x": "float64[2]"}), "predict")
    assert batch["x"].tolist() == [[0.5, 1.5], [np.inf, -1.0]]


@pytest.mark.parametrize("features", [None, ("kind",)])
def test_a_label_that_the_index_does_not_have_is_refused_with_its_record(
    features: Any, tmp_path: Path, tensorflow: Any
):
    codes = np.array([0, 1, 0], np.int32)
    labels = np.array(["a", "b"], object)
    kind = Column("kind", "string", lambda: {"codes": codes, "labels": labels}, levels=("a", "b"))
    columns = [kind] if features is None else [kind, Column("x", "float", lambda: codes / 2)]
    write_fixed_length(pack(columns), str(tmp_path / "data"), 1)
    (shard,) = (tmp_path / "data").glob("*.bin")
    content = bytearray(shard.read_bytes())
    content[content.index(1) if features is None else -4] = 7
    shard.write_bytes(content)
    source = FixedLength((str(tmp_path / "data"),), features=features)
    with (
        pytest.raises(InputError, match=r"Record \d of .* has a label of `kind`"),
        source.serving(),
    ):
        batches(source, "predict")


def change(index: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    place: Any = index
    for each in parents:
        place = place[int(each)] if each.isdecimal() else place[each]
    place[last] = value


ODD_INDEXES: dict[str, tuple[str, Any, str]] = {
    "a name outside": ("rows", {"../a.bin": 10}, "is not in its directory"),
    "an absolute name": ("rows", {"/etc/passwd": 10}, "is not in its directory"),
    "the directory": ("rows", {"..": 10}, "is not in its directory"),
    "no numbers of rows": ("rows", {"a.bin": "10"}, "no number of rows"),
    "no files": ("rows", ["a.bin"], "names no files"),
    "a huge shape": ("columns/0/facts/shape", [10**6, 10**6, 10**6], "shape that no row can have"),
    "an empty shape": ("columns/0/facts/shape", [0], "shape that no row can have"),
    "a negative shape": ("columns/0/facts/shape", [-4], "shape that no row can have"),
    "a shape of text": ("columns/0/facts/shape", ["4"], "shape that no row can have"),
    "a shape that is a number": ("columns/0/facts/shape", 4, "another type"),
    "an unknown dtype": ("columns/0/dtype", "object", "another dtype than its type"),
    "an unknown type": ("columns/0/facts/type", "complex", "no known type"),
    "a type that is a list": ("columns/0/facts/type", [], "another type"),
    "a name that is a number": ("columns/0/facts/name", 4, "has no name"),
    "a range of text": ("columns/0/range", ["a", "b"], "range that is not two numbers"),
    "labels that are numbers": ("columns/0/labels", [1, 2], "labels that are not strings"),
    "another format": ("format", "csv", "has the format"),
    "no columns": ("columns", [], "names a column twice, or none"),
    "columns that are text": ("columns", "x", "another type"),
}


@pytest.mark.parametrize(("path", "value", "problem"), ODD_INDEXES.values(), ids=ODD_INDEXES)
def test_an_index_that_this_package_did_not_write_is_refused(
    path: str, value: Any, problem: str, written: str
):
    index = Path(written, "index.json")
    content = json.loads(index.read_text())
    change(content, path, value)
    index.write_text(json.dumps(content))
    with pytest.raises(InputError, match="is not an index of this package") as caught:
        FixedLength((written,)).facts()
    assert problem in caught.value.problem
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("text", ["[" * 100_000, '{"rows": ' + "9" * 5000 + "}", "3", "{}", "\0"])
def test_json_that_is_not_an_index_is_refused(text: str, written: str):
    Path(written, "index.json").write_text(text)
    with pytest.raises(InputError, match="is not an index of this package"):
        FixedLength((written,)).facts()


def test_a_shard_with_other_rows_than_its_index_says_is_refused(written: str):
    shard = Path(written, "part-00001-of-00003.bin")
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) // 3 * 2])
    with pytest.raises(InputError, match="has 2 rows, but its index says 3"):
        FixedLength((written,)).facts()
    index = Path(written, "index.json")
    index.write_text(index.read_text().replace('.bin": 4', '.bin": 1000000000000'))
    with pytest.raises(InputError, match="but its index says 1000000000000"):
        FixedLength((written,)).facts()
