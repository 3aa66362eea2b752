"""Sharding contract of all sources: no row is lost or repeated, and all workers take the same number of steps."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError, ShardingError
from tfdistribute.inputs import Column, Input, audit_sharding, write_packed
from tfdistribute.inputs.functions.serialized_dataset import serialize

# Divisible by every number of workers.
BATCH = 60

Make = Callable[[Path, list[int]], dict[str, Any]]


def numbers(first: int, rows: int) -> dict[str, Any]:
    values = np.arange(first, first + rows).astype(np.float32)
    return {"x": values, "y": -values}


def columns(rows: int) -> list[dict[str, Any]]:
    return [
        {"name": name, "type": "float", "values": lambda values=values: values}
        for name, values in numbers(0, rows).items()
    ]


def in_memory(folder: Path, sizes: list[int]) -> dict[str, Any]:
    return {"columns": columns(sum(sizes))}


def mapped(folder: Path, sizes: list[int]) -> dict[str, Any]:
    write_packed([read(Column, fields) for fields in columns(sum(sizes))], str(folder / "packed"))
    return {"directory": str(folder / "packed")}


def generator(folder: Path, sizes: list[int]) -> dict[str, Any]:
    def batch(first: int, rows: int) -> dict[str, Any]:
        values = numbers(first, rows).items()
        return {"columns": [{"name": n, "type": "float", "values": v} for n, v in values]}

    waiting: list[Any] = []

    def begin() -> bool:
        waiting[:] = [batch(0, sum(sizes)), None]
        return True

    return {"begin": begin, "next_batch": lambda: waiting.pop(0)}


def serialized_dataset(folder: Path, sizes: list[int]) -> dict[str, Any]:
    dataset = engine.tf.data.Dataset.from_tensor_slices(numbers(0, sum(sizes))).batch(BATCH)
    return {"graph": serialize(dataset, ("x",), "y"), "features": ("x",)}


def transformed(folder: Path, sizes: list[int]) -> dict[str, Any]:
    source = {"kind": "in_memory", **in_memory(folder, sizes), **COMMON}
    return {"source": source, "transform": lambda features: {"x": features["x"] + 1.0}}


def files(write: Callable[[Path, dict[str, Any]], None]) -> Make:
    def make(folder: Path, sizes: list[int]) -> dict[str, Any]:
        first = 0
        for number, rows in enumerate(sizes):
            write(folder / f"part-{number}", numbers(first, rows))
            first += rows
        return {"paths": str(folder / "part-*")}

    return make


def write_csv(path: Path, values: dict[str, Any]) -> None:
    rows = zip(values["x"].tolist(), values["y"].tolist(), strict=True)
    path.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows), encoding="utf-8")


def write_arrow(path: Path, values: dict[str, Any]) -> None:
    pyarrow = importlib.import_module("pyarrow")
    importlib.import_module("pyarrow.feather").write_feather(
        pyarrow.table(values), path, compression="uncompressed", chunksize=3
    )


def write_parquet(path: Path, values: dict[str, Any]) -> None:
    pyarrow = importlib.import_module("pyarrow")
    importlib.import_module("pyarrow.parquet").write_table(
        pyarrow.table(values), path, row_group_size=3
    )


def write_tfrecord(path: Path, values: dict[str, Any]) -> None:
    tf = importlib.import_module("tensorflow")
    with tf.io.TFRecordWriter(str(path)) as writer:
        for x, y in zip(values["x"].tolist(), values["y"].tolist(), strict=True):
            feature = {
                name: tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
                for name, value in (("x", x), ("y", y))
            }
            features = tf.train.Features(feature=feature)
            writer.write(tf.train.Example(features=features).SerializeToString())


DTYPES = {"columns": {"x": "float32", "y": "float32"}}

SOURCES: Mapping[str, tuple[Make, dict[str, Any]]] = {
    "in_memory": (in_memory, {}),
    "mapped": (mapped, {}),
    "generator": (generator, {}),
    "serialized_dataset": (serialized_dataset, {}),
    "csv": (files(write_csv), {}),
    "parquet": (files(write_parquet), {}),
    "arrow": (files(write_arrow), {}),
    "tfrecord": (files(write_tfrecord), DTYPES),
    "transformed": (transformed, {}),
}
COMMON = {"response": "y", "batch_size": BATCH}


def source(kind: str, folder: Path, sizes: list[int]) -> Input:
    make, fields = SOURCES[kind]
    common = {"response": "y"} if kind in ("generator", "serialized_dataset") else COMMON
    common = {} if kind == "transformed" else common
    return read(Input, {"kind": kind, **make(folder, sizes), **common, **fields})


def test_every_source_that_divides_its_rows_is_here():
    assert set(SOURCES) == set(Input.kinds) - {"dataset_function"}


@pytest.mark.promise("Every row once")
@sampled(
    ("kind", "workers"),
    itertools.product(SOURCES, (2, 3, 4, 5)),
    check=[*itertools.product(SOURCES, (2, 5))],
)
def test_two_to_five_workers_read_a_prime_number_of_rows_once(
    kind: str, workers: int, tmp_path: Path, tensorflow: Any
):
    """Three files, one empty and one with a single row: fewer than workers, and very uneven.

    The next test covers a single worker.
    """
    audit = audit_sharding(source(kind, tmp_path, [0, 12, 1]), workers)
    assert audit.ok
    assert audit.rows == 13 == sum(worker.rows for worker in audit.workers)
    assert (audit.rows_missing, audit.rows_repeated, audit.rows_unknown) == (0, 0, 0)
    assert len({worker.steps for worker in audit.workers}) == 1
    rows = [worker.rows for worker in audit.workers]
    assert max(rows) - min(rows) <= 1


@pytest.mark.parametrize("kind", SOURCES)
def test_a_single_row_belongs_to_one_worker(kind: str, tmp_path: Path, tensorflow: Any):
    shared = source(kind, tmp_path, [1])
    assert audit_sharding(shared, 1).ok
    audit = audit_sharding(shared, 3, replicas=None)
    assert audit.ok
    assert sorted(worker.rows for worker in audit.workers) == [0, 0, 1]
    if kind in ("csv", "parquet", "arrow", "tfrecord"):
        # A worker reads only its own rows of files, and has none to repeat.
        with pytest.raises(ShardingError):
            audit_sharding(shared, 2)
    else:
        assert audit_sharding(shared, 2).ok


@pytest.mark.parametrize("kind", ["csv", "tfrecord"])
def test_files_of_other_file_systems_are_read(kind: str, tmp_path: Path):
    """Parquet and Arrow files have their own test."""
    shared = source(kind, tmp_path, [5, 6])
    remote = dataclasses.replace(shared, paths=(f"file://{tmp_path}/part-*",))
    audit = audit_sharding(remote, 2)
    assert audit.ok
    assert audit.rows == 11
    missing = dataclasses.replace(shared, paths=(f"file://{tmp_path}/none",))
    with pytest.raises(InputError, match=f'"{tmp_path}/none" does not exist'):
        missing.facts()
