"""Mapped data, compared with the columns in memory it was packed from."""

from __future__ import annotations

import json
import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs import Column, InMemory, Mapped, write_packed
from tfdistribute.inputs.memory import map_packed
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.sharding import Shard


def columns(rows: int = 23) -> tuple[Column, ...]:
    """A column of every kind."""
    random = np.random.default_rng(4)
    labels = np.array(["b", "größe", ""], dtype=object)
    codes = random.integers(0, 3, rows)
    return (
        Column("x", "float", lambda: random.normal(size=rows)),
        Column("petal length", "integer", lambda: np.arange(rows)),
        Column("when", "datetime", lambda: 1577836800.25 + np.arange(rows)),
        Column("big", "integer64", lambda: (2**60 + np.arange(rows)).view(np.float64)),
        Column("image", "float", lambda: random.normal(size=(rows, 2, 3)), (2, 3)),
        Column("s", "string", lambda: {"codes": codes, "labels": labels}, levels=("b", "größe")),
        Column("y", "float", lambda: np.arange(rows) / 7),
    )


def both(folder: Path, **settings: Any) -> tuple[InMemory, Mapped]:
    """The same columns in memory and mapped."""
    directory = str(folder / "data")
    write_packed(columns(), directory, "y")
    return InMemory(columns(), response="y", **settings), Mapped(
        directory, response="y", **settings
    )


def batches(source: Any, purpose: Any, shard: Shard) -> list[Any]:
    """All batches of one pipeline, as nested lists."""

    class Context:
        num_input_pipelines = shard.pipelines
        input_pipeline_id = shard.pipeline
        num_replicas_in_sync = shard.replicas

    dataset = source.input_fn(purpose, 3)(Context())
    found: list[Any] = []
    for element in dataset.as_numpy_iterator():
        features, label = element if isinstance(element, tuple) else (element, None)
        values = {name: value.tolist() for name, value in features.items()}
        found.append((values, None if label is None else label.tolist()))
    return found


def test_facts_and_batches_are_those_of_the_columns_in_memory(tensorflow: Any, tmp_path: Path):
    kept, mapped = both(tmp_path, batch_size=4, epochs=2)
    assert mapped.facts() == kept.facts()
    assert list(mapped.facts().features or ()) == list(kept.facts().features or ())
    for purpose in ("train", "evaluate", "predict"):
        for pipeline in range(2):
            shard = Shard(2, pipeline, 2)
            assert batches(mapped, purpose, shard) == batches(kept, purpose, shard)


def test_the_files_are_private_plain_and_mapped_for_reading_only(tmp_path: Path):
    directory = tmp_path / "data"
    written = write_packed(columns(), str(directory), "y")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    packed = map_packed(str(directory))
    assert written == sum(matrix.nbytes for matrix in packed.matrices)
    for matrix in packed.matrices:
        assert not matrix.flags.writeable
        assert isinstance(matrix.base.base if matrix.base is not None else None, mmap.mmap)


def test_packing_keeps_no_second_copy_in_memory(run_python: Callable[..., Any], tmp_path: Path):
    """A copy would be in anonymous memory, which excludes the pages of files."""
    run_python(
        f"""
import re
import numpy as np
from tfdistribute.inputs import Column, write_packed

def anonymous():
    text = open("/proc/self/status").read()
    return int(re.search(r"RssAnon:\\s+(\\d+)", text).group(1)) / 1024

values = np.arange(2_000_000.0)
columns = [Column(f"x{{i}}", "float", lambda: values) for i in range(20)]
before = anonymous()
assert write_packed(columns, {str(tmp_path / "data")!r}) == 160_000_000
assert anonymous() - before < 40, anonymous() - before
""",
        timeout_s=60,
    )


def test_more_than_two_gigabytes_are_mapped(tensorflow: Any, tmp_path: Path):
    """The file is sparse, so the disk can be smaller."""
    rows, width = 300_000, 2_000
    directory = tmp_path / "data"
    directory.mkdir()
    facts = ColumnFacts("x", "float", (width,))
    (dtype,) = Layout.of([facts]).dtypes
    matrix = np.lib.format.open_memmap(
        directory / "matrix-0.npy", mode="w+", dtype=dtype, shape=(rows, width)
    )
    matrix[rows - 1, width - 1] = 5
    matrix.flush()
    described = {"name": "x", "type": "float", "shape": [width], "levels": None}
    (directory / "columns.json").write_text(
        json.dumps({"rows": rows, "columns": [described], "tables": {}}), encoding="utf-8"
    )
    assert os.stat(directory / "matrix-0.npy").st_size > 2**31
    gathered = map_packed(str(directory)).gather(np.array([[0, rows - 1]]))[0]
    assert gathered[0, :, -1].tolist() == [0, 5]
    dataset = Mapped(str(directory), batch_size=2, shuffle=True).input_fn("train", 1)()
    (first,) = dataset.take(1).as_numpy_iterator()
    assert first["x"].shape == (2, width)


@pytest.mark.parametrize("damage", ["gone", "matrix gone", "short", "other columns", "no JSON"])
def test_files_that_are_not_what_was_written_are_refused(tmp_path: Path, damage: str):
    directory = tmp_path / "data"
    if damage != "gone":
        write_packed(columns(), str(directory), "y")
    match damage:
        case "matrix gone":
            (directory / "matrix-0.npy").unlink()
        case "short":
            os.truncate(directory / "matrix-0.npy", 200)
        case "other columns":
            described = json.loads((directory / "columns.json").read_text(encoding="utf-8"))
            described["columns"].pop(0)
            (directory / "columns.json").write_text(json.dumps(described), encoding="utf-8")
        case "no JSON":
            (directory / "columns.json").write_text("{", encoding="utf-8")
        case _:
            pass
    with pytest.raises(InputError, match="cannot be read"):
        Mapped(str(directory), response="y").facts()


def test_a_disk_without_space_is_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def no_space(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_space)
    with pytest.raises(InputError, match="has no space for the data, which takes") as caught:
        write_packed(columns(), str(tmp_path / "data"))
    assert "TMPDIR" in (caught.value.remedy or "")


def test_columns_that_do_not_fit_are_refused_as_in_memory(tmp_path: Path):
    twice = (*columns(), columns()[0])
    with pytest.raises(InputError, match="two columns `x`"):
        write_packed(twice, str(tmp_path / "a"))
    with pytest.raises(InputError, match="response `z` is not a column"):
        write_packed(columns(), str(tmp_path / "b"), "z")
