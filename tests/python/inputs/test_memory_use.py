"""Memory use while reading a file, which does not depend on the file's size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_PASSES = """
import gc, json, sys
from tfdistribute import engine
from tfdistribute.inputs import Arrow
import numpy as np, os, pyarrow, pyarrow.ipc

tf = engine.tf
WIDTH, MEGABYTE = 1024, 2**20

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

def read_all(megabytes):
    path = f"{sys.argv[0]}.arrow"
    zeros = np.zeros(MEGABYTE // 4, np.float32)
    batch = pyarrow.record_batch([pyarrow.FixedSizeListArray.from_arrays(zeros, WIDTH)], ["x"])
    with pyarrow.ipc.new_file(path, batch.schema) as file:
        for _ in range(megabytes):
            file.write_batch(batch)
    source = Arrow((path,), batch_size=128)
    with tf.Graph().as_default():
        dataset = source.input_fn("train", 1)()
        iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
        rows = tf.shape(iterator.get_next()["x"])[0]
        read = 0
        with tf.compat.v1.Session() as session:
            session.run(iterator.initializer)
            try:
                while True:
                    read += session.run(rows)
            except tf.errors.OutOfRangeError:
                assert read * 4 * WIDTH == megabytes * MEGABYTE
    os.remove(path)
    # Graphs hold the windows of their last pass.
    gc.collect()
    return peak()

print(json.dumps([read_all(megabytes) for megabytes in (4, 200, 200, 800)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
def test_four_times_the_file_takes_no_more_memory(run_python: Callable[..., Any], tmp_path: Path):
    """The smaller file exceeds three windows of 64 MB, of which two are in memory."""
    small, first, larger, largest = json.loads(run_python(_PASSES, timeout_s=250).stdout)
    assert first - small < 250
    # A pass may find the windows of the one before it.
    assert larger - first < 250
    assert largest - larger < 100
