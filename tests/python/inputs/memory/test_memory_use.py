"""Memory use while reading a file, which does not depend on the file's size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_PASSES = """
import json, sys
from tfdistribute import engine
from tfdistribute.inputs import FixedLength

tf = engine.tf
WIDTH, MEGABYTE = 1024, 2**20

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

def read_all(megabytes):
    path = f"{sys.argv[0]}.bin"
    with open(path, "wb") as file:
        file.truncate(megabytes * MEGABYTE)  # Holes: the disk need not have them.
    source = FixedLength((path,), columns={"x": f"float32[{WIDTH}]"}, batch_size=128)
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
    return peak()

print(json.dumps([read_all(megabytes) for megabytes in (4, 200, 800)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
def test_four_times_the_file_takes_no_more_memory(run_python: Callable[..., Any], tmp_path: Path):
    """The smaller file exceeds three windows of 64 MB, of which two are in memory."""
    small, larger, largest = json.loads(run_python(_PASSES, timeout_s=250).stdout)
    assert larger - small < 250
    assert largest - larger < 100
