"""Arrow files that this package writes: values, order, sharding, resumption and errors."""

from __future__ import annotations

import importlib
import itertools
import json
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistribute.errors import ArgumentError, InputError, ShardingError
from tfdistribute.inputs import Arrow, Column
from tfdistribute.inputs.files import blocks
from tfdistribute.inputs.packed.packing import PackedColumns, pack
from tfdistribute.inputs.tables import arrow_file
from tfdistribute.inputs.tables.arrow_file import write_arrow


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


def batches(source: Arrow, purpose: Any = "train", **where: Any) -> list[Any]:
    given = context(**where) if where else None
    return list(source.input_fn(purpose, 1)(given).as_numpy_iterator())


def ids(found: list[Any]) -> list[int]:
    return [value for batch in found for value in batch["id"].tolist()]


@pytest.fixture
def written(tmp_path: Path) -> str:
    write_arrow(table(10), str(tmp_path / "data"), 3)
    return str(tmp_path / "data")


def test_written_rows_are_read(written: str, tensorflow: ModuleType):
    source = Arrow((written,), response="x", batch_size=4)
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
    source = Arrow((written,), features=("id", "kind"), response="x")
    (batch,) = batches(source, "predict")
    assert sorted(batch) == ["id", "kind"]
    assert batch["id"].tolist() == list(range(10))


@pytest.mark.parametrize("pipelines", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("rows", [7, 31])
def test_every_row_is_read_once_and_workers_agree_on_steps(
    pipelines: int, rows: int, tmp_path: Path, tensorflow: ModuleType
):
    write_arrow(table(rows), str(tmp_path / "data"), 2)
    paths = (str(tmp_path / "data" / "*.arrow"),)
    source = Arrow(paths, batch_size=pipelines * 2, epochs=2)
    shares = [batches(source, pipelines=pipelines, pipeline=each) for each in range(pipelines)]
    assert len({len(share) for share in shares}) == 1
    read = Counter(itertools.chain.from_iterable(ids(share) for share in shares))
    repeated = read - Counter([*range(rows), *range(rows)])
    # A worker without rows in the last step repeats a row, which counts nothing: test_sharding_contract.py.
    assert repeated.total() < pipelines
    assert read - repeated == Counter([*range(rows), *range(rows)])


def test_workers_of_a_parameter_server_read_every_row_once(written: str, tensorflow: ModuleType):
    source = Arrow((written,), batch_size=3)
    shares = [batches(source, pipelines=4, pipeline=each, replicas=1) for each in range(4)]
    assert sorted(itertools.chain.from_iterable(map(ids, shares))) == list(range(10))


def test_fewer_rows_than_workers_are_refused(tmp_path: Path, tensorflow: ModuleType):
    write_arrow(table(1), str(tmp_path / "data"), 1)
    with pytest.raises(ShardingError, match="1 example cannot be split over 2 workers"):
        batches(Arrow((str(tmp_path / "data"),), batch_size=2), pipelines=2, pipeline=0)


def test_the_shuffle_mixes_blocks_differs_by_epoch_and_repeats(
    tmp_path: Path, tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(arrow_file, "BATCH_BYTES", 400)
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 4000)
    write_arrow(table(1000), str(tmp_path / "data"), 3)
    source = Arrow((str(tmp_path / "data"),), batch_size=50, epochs=2)
    order = ids(batches(source))
    first, second = order[:1000], order[1000:]
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second
    assert order == ids(batches(source))
    # Position and row are uncorrelated: under a random order, |r| > 0.2 has a probability of 1e-9.
    assert abs(np.corrcoef(first, np.arange(1000))[0, 1]) < 0.2
    assert ids(batches(source, "predict")) == list(range(1000))


def test_a_file_that_changes_while_it_is_read_is_an_error(written: str, tensorflow: ModuleType):
    source = Arrow((written,), batch_size=5)
    dataset = source.input_fn("evaluate", 1)()
    shard = Path(written, "part-00000-of-00003.arrow")
    content = shard.read_bytes()
    source.facts()
    shard.write_bytes(content + content)
    with (
        pytest.raises(InputError, match="part-00000-of-00003.arrow.* was changed"),
        source.serving(),
    ):
        list(dataset.as_numpy_iterator())


def test_unknown_columns_are_named(written: str):
    with pytest.raises(InputError, match="has no column `w`"):
        Arrow((written,), features=("w",)).facts()


def test_writing_continues_after_an_interruption(tmp_path: Path):
    path, told = tmp_path / "data", list[int]()

    def interrupt(event: dict[str, int]) -> None:
        told.append(event["shard"])
        if event["shard"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_arrow(table(10), str(path), 3, interrupt)
    with pytest.raises(InputError, match="are not finished"):
        Arrow((str(path),)).facts()
    first = (path / "part-00000-of-00003.arrow").stat()
    write_arrow(table(10), str(path), 3)
    assert (path / "part-00000-of-00003.arrow").stat().st_mtime_ns == first.st_mtime_ns
    assert json.loads((path / "index.json").read_text())["rows"] == {
        f"part-0000{number}-of-00003.arrow": size for number, size in enumerate([4, 3, 3])
    }
    with pytest.raises(ArgumentError, match="holds finished files already"):
        write_arrow(table(10), str(path), 3)


def test_other_data_does_not_keep_the_shards_of_the_first(tmp_path: Path):
    path = tmp_path / "data"

    def interrupt(event: dict[str, int]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_arrow(table(10), str(path), 2, interrupt)
    write_arrow(table(12), str(path), 2)
    assert Arrow((str(path),)).facts().rows == 12
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(ArgumentError, match="is not empty"):
        write_arrow(table(10), str(tmp_path / "other"), 2)


def change(index: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    place: Any = index
    for each in parents:
        place = place[int(each)] if each.isdecimal() else place[each]
    place[last] = value


ODD_INDEXES: dict[str, tuple[str, Any, str]] = {
    "a name outside": ("rows", {"../a.arrow": 10}, "is not in its directory"),
    "an absolute name": ("rows", {"/etc/passwd": 10}, "is not in its directory"),
    "the directory": ("rows", {"..": 10}, "is not in its directory"),
    "no numbers of rows": ("rows", {"a.arrow": "10"}, "no number of rows"),
    "no files": ("rows", ["a.arrow"], "names no files"),
    "a huge shape": ("columns/0/facts/shape", [10**6, 10**6, 10**6], "shape that no row can have"),
    "an empty shape": ("columns/0/facts/shape", [0], "shape that no row can have"),
    "a negative shape": ("columns/0/facts/shape", [-4], "shape that no row can have"),
    "a shape of text": ("columns/0/facts/shape", ["4"], "shape that no row can have"),
    "a shape that is a number": ("columns/0/facts/shape", 4, "another type"),
    "an unknown type": ("columns/0/facts/type", "complex", "no known type"),
    "a type that is a list": ("columns/0/facts/type", [], "another type"),
    "a name that is a number": ("columns/0/facts/name", 4, "has no name"),
    "a range of text": ("columns/0/range", ["a", "b"], "range that is not two numbers"),
    "levels that are numbers": ("columns/0/facts/levels", [1, 2], "levels that are not strings"),
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
        Arrow((written,)).facts()
    assert problem in caught.value.problem
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("text", ["[" * 100_000, '{"rows": ' + "9" * 5000 + "}", "3", "{}", "\0"])
def test_json_that_is_not_an_index_is_refused(text: str, written: str):
    Path(written, "index.json").write_text(text)
    with pytest.raises(InputError, match="is not an index of this package"):
        Arrow((written,)).facts()


def test_a_shard_with_other_rows_than_its_index_says_is_refused(written: str):
    shards = [Path(written, f"part-{number:05d}-of-00003.arrow") for number in range(2)]
    shards[1].write_bytes(shards[0].read_bytes())
    with pytest.raises(InputError, match="has 4 rows, but its index says 3"):
        Arrow((written,)).facts()
    index = Path(written, "index.json")
    index.write_text(index.read_text().replace('.arrow": 4', '.arrow": 1000000000000'))
    with pytest.raises(InputError, match="but its index says 1000000000000"):
        Arrow((written,)).facts()


def test_directories_whose_columns_have_other_levels_are_refused(tmp_path: Path):
    def make(name: str, labels: tuple[str, ...]) -> str:
        kinds = {"codes": np.zeros(2, np.int32), "labels": np.array(labels, object)}
        packed = pack([Column("kind", "string", lambda: kinds, levels=labels)])
        write_arrow(packed, str(tmp_path / name), 1)
        return str(tmp_path / name)

    first, same, others = make("1", ("a", "b")), make("2", ("a", "b")), make("3", ("b", "a"))
    assert Arrow((first, same)).facts().rows == 4
    with pytest.raises(InputError, match=f'The files in "{others}" have other columns or levels'):
        Arrow((first, others)).facts()


def test_files_are_found_without_their_index_and_beside_one_of_another_program(
    written: str, tensorflow: ModuleType
):
    """Levels and shapes of more than one dimension are in the index alone."""
    Path(written, "index.json").write_text('{"pages": []}')
    source = Arrow((f"{written}/part-*",), features=("image", "kind"), batch_size=20)
    facts = source.facts()
    assert facts.features is not None
    assert (facts.features["image"].shape, facts.features["kind"].levels) == ((4,), None)
    ((batch),) = batches(source, "predict")
    assert batch["image"].tolist() == np.arange(40.0).reshape(10, 4).tolist()
    assert batch["kind"].tolist()[1:3] == ["ö".encode(), b"c"]


def strings(codes: list[int], labels: list[str], name: str = "s", shape: Any = ()) -> Column:
    values = {
        "codes": np.array(codes, np.int32).reshape(-1, *shape),
        "labels": np.array(labels, object),
    }
    return Column(name, "string", lambda: values, shape)


@pytest.mark.parametrize("longest", [0, 10])
def test_each_type_has_its_own_in_arrow_and_keeps_its_values(
    longest: int, tmp_path: Path, tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(arrow_file, "LONGEST_DICTIONARY", longest)
    numbers: dict[str, tuple[str, list[float], str]] = {
        "day": ("date", [0.0, -1.0, 19724.0], "date32[day]"),
        "parts": ("date", [0.5, -1.0, 19724.25], "float"),
        "time": ("datetime", [0.0, -1.5, 1704067201.123457], "timestamp[us, tz=UTC]"),
        "yes": ("logical", [0, 1, 1], "bool"),
        "inf": ("float", [np.inf, -np.inf, 1e-3], "float"),
    }
    columns = [
        Column(name, column_type, lambda values=values: np.array(values))
        for name, (column_type, values, _) in numbers.items()
    ]
    columns += [strings([1, 0, 1], ["a", "ö"]), strings([0, 1] * 3, ["a", "b"], "pair", (2,))]
    write_arrow(pack(columns), str(tmp_path / "data"), 1)
    ipc = importlib.import_module("pyarrow.ipc")
    with ipc.open_file(tmp_path / "data" / "part-00000-of-00001.arrow") as file:
        types = {each.name: str(each.type) for each in file.schema}
    assert types.pop("s") == (
        "dictionary<values=string, indices=int32, ordered=0>" if longest else "string"
    )
    assert types.pop("pair") == "fixed_size_list<item: string>[2]"
    assert types == {name: arrow_type for name, (_, _, arrow_type) in numbers.items()}
    (found,) = batches(Arrow((str(tmp_path / "data"),)), "predict")
    for name, (_, values, _) in numbers.items():
        np.testing.assert_array_equal(found[name], np.array(values, found[name].dtype))
    assert found["s"].tolist() == ["ö".encode(), b"a", "ö".encode()]
    assert found["pair"].tolist() == [[b"a", b"b"]] * 3


def test_missing_values_of_dictionaries_are_imputed_or_refused(
    tmp_path: Path, tensorflow: ModuleType
):
    pa, feather = (importlib.import_module(f"pyarrow{each}") for each in ("", ".feather"))
    path = str(tmp_path / "data")
    feather.write_feather(pa.table({"s": pa.array(["a", None, "b"]).dictionary_encode()}), path)
    for value in ("b", "new"):
        (found,) = batches(Arrow((path,), impute={"s": value}), "predict")
        assert found["s"].tolist() == [b"a", value.encode(), b"b"]
    source = Arrow((path,))
    with pytest.raises(InputError, match="missing value in row 2"), source.serving():
        batches(source, "predict")


def test_files_with_other_dictionaries_are_read_as_strings(tmp_path: Path, tensorflow: ModuleType):
    pa, feather = (importlib.import_module(f"pyarrow{each}") for each in ("", ".feather"))
    for name, values in {"1": ["a", "b"], "2": ["b", "a"]}.items():
        table = pa.table({"s": pa.array(values).dictionary_encode()})
        feather.write_feather(table, str(tmp_path / name))
    (found,) = batches(Arrow((str(tmp_path / "*"),)), "predict")
    assert found["s"].tolist() == [b"a", b"b", b"b", b"a"]


def test_a_code_without_a_value_is_refused_with_its_row(tmp_path: Path, tensorflow: ModuleType):
    codes = [0, 1, 0, 0x01020304 % 2]
    write_arrow(pack([strings(codes, ["a", "b"])]), str(tmp_path / "data"), 1)
    (shard,) = (tmp_path / "data").glob("*.arrow")
    content = shard.read_bytes()
    stored = np.array(codes, "<i4").tobytes()
    assert content.count(stored) == 1
    shard.write_bytes(content.replace(stored, np.array([0, 1, 7, 0], "<i4").tobytes()))
    source = Arrow((str(tmp_path / "data"),))
    message = f'no value for its code in row 3 of "{shard}"'
    with pytest.raises(InputError, match=message), source.serving():
        batches(source, "predict")


@pytest.mark.slow
def test_other_strings_behind_the_same_codes_are_other_data(tmp_path: Path):
    path = str(tmp_path / "data")

    def interrupt(event: dict[str, int]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_arrow(pack([strings([0, 1], ["a", "b"])]), path, 2, interrupt)
    write_arrow(pack([strings([0, 1], ["c", "d"])]), path, 2)
    assert [batch["s"].tolist() for batch in batches(Arrow((path,)), "predict")] == [[b"c", b"d"]]
