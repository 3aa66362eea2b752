"""Memory of windows, which is used again and never changes rows that were handed out."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from tfdistribute.inputs import Arrow
from tfdistribute.inputs.files import blocks
from tfdistribute.inputs.files.blocks import RowStream
from tfdistribute.sharding import RangePlan

WIDTH, ROWS, BATCH, EPOCHS = 1024, 480, 8, 3
ROW_BYTES = 4 * WIDTH


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arrow:
    """Make a file of six windows."""
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 80 * ROW_BYTES)
    values = np.repeat(np.arange(ROWS, dtype=np.float32), WIDTH)
    column = pa.FixedSizeListArray.from_arrays(values, WIDTH)
    table = pa.table({"x": column})
    with pa.ipc.new_file(path := str(tmp_path / "rows.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=10)
    return Arrow((path,), batch_size=BATCH, epochs=EPOCHS)


def taken(source: Arrow, seed: int | None) -> Iterator[np.ndarray]:
    stream = RowStream(source._source, RangePlan(ROWS, EPOCHS, BATCH), seed)
    for _ in range(EPOCHS * ROWS // BATCH):
        yield stream.take(BATCH)[0]


@pytest.mark.parametrize("seed", [1, None])
def test_rows_that_are_kept_do_not_change(source: Arrow, seed: int | None):
    # A part of a part of every fifth batch stays in the memory of its window.
    kept, copies = list[np.ndarray](), list[np.ndarray]()
    for number, rows in enumerate(taken(source, seed)):
        if number % 5 == 0:
            kept.append(rows[1:].reshape(-1)[WIDTH:].view(np.int32))
            copies.append(kept[-1].copy())
        del rows
    assert all(np.array_equal(*each) for each in zip(kept, copies, strict=True))


@pytest.mark.usefixtures("tensorflow")
def test_tensors_that_are_kept_do_not_change(source: Arrow):
    features: list[Any] = list(source.input_fn("train", 1)())
    rows = np.concatenate([each["x"].numpy()[:, 0] for each in features]).reshape(EPOCHS, ROWS)
    assert all(np.array_equal(np.sort(each), np.arange(ROWS)) for each in rows)
    assert all((each["x"].numpy() == each["x"].numpy()[:, :1]).all() for each in features)


def test_memory_is_used_again_and_freed_with_its_source(source: Arrow):
    places = {rows.ctypes.data - rows.ctypes.data % 64 for rows in taken(source, 1)}
    # Of 18 windows; the batches of at most three are in memory together.
    assert len(places) <= 3 * 80 // BATCH
    memory = weakref.ref(source._source.memory)
    source.__dict__.clear()
    gc.collect()
    assert memory() is None
