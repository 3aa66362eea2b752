"""Rows per second that inputs from files give, against what TensorFlow and NumPy do with the same files.

Ratios of medians of alternating runs: ``tools/env python bench/input.py [rows]``. Above 1 this package is faster.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.inputs.fixed_length import FixedLength, write_fixed_length
from tfdistribute.inputs.packing import Column, Packed, pack
from tfdistribute.inputs.tfrecord import TFRecord, write_tfrecord

WIDTH = 20
BATCH = 512
RUNS = 5


def data(rows: int) -> Packed:
    """Rows of 20 random numbers."""
    values = np.random.default_rng(1).random((rows, WIDTH), np.float32)
    return pack([Column("x", "float", lambda: values, (WIDTH,))])


def rows_per_second(make: Callable[[], Any], rows: int) -> float:
    """Read a whole dataset in a graph, as an Estimator does."""
    tf = engine.tf
    with tf.Graph().as_default():
        iterator = tf.compat.v1.data.make_initializable_iterator(make())
        total = tf.reduce_sum(iterator.get_next())
        with tf.compat.v1.Session() as session:
            session.run(iterator.initializer)
            start = time.perf_counter()
            try:
                while True:
                    session.run(total)
            except tf.errors.OutOfRangeError:
                return rows / (time.perf_counter() - start)


def block_reader(path: str) -> Any:
    """NumPy reads blocks, shuffles each, and hands over one batch at a time."""

    def batches() -> Iterator[Any]:
        at_once = BATCH * 100
        with open(path, "rb") as file:
            while len(block := np.fromfile(file, np.float32, at_once * WIDTH)):
                block = block.reshape(-1, WIDTH)
                order = np.random.default_rng(1).permutation(len(block))
                for first in range(0, len(block), BATCH):
                    yield block[order[first : first + BATCH]]

    tf = engine.tf
    signature = tf.TensorSpec([None, WIDTH], tf.float32)
    return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(4)


def by_record(path: str) -> Any:
    """TensorFlow reads, shuffles and decodes one record at a time."""
    tf = engine.tf
    records = tf.data.FixedLengthRecordDataset(path, 4 * WIDTH).shuffle(10_000).batch(BATCH)
    return records.map(lambda batch: tf.io.decode_raw(batch, tf.float32)).prefetch(4)


def batched_parse(path: str) -> Any:
    """TensorFlow reads and shuffles one record at a time, and parses whole batches."""
    tf = engine.tf
    spec = {"x": tf.io.FixedLenFeature((WIDTH,), tf.float32)}
    records = tf.data.TFRecordDataset(path).shuffle(10_000).batch(BATCH)
    parsed = records.map(lambda batch: tf.io.parse_example(batch, spec)["x"], tf.data.AUTOTUNE)
    return parsed.prefetch(4)


def compare(name: str, source: Any, others: dict[str, Callable[[], Any]], rows: int) -> None:
    """Print the ratios of one input to others."""
    own = source.input_fn("train", 1)
    makes = {"own": lambda: own().map(lambda features: features["x"]), **others}
    speeds: dict[str, list[float]] = {key: [] for key in makes}
    for _ in range(RUNS):
        for key, make in makes.items():
            speeds[key].append(rows_per_second(make, rows))
    medians = {key: statistics.median(values) for key, values in speeds.items()}
    print(f"{name}: {medians['own']:,.0f} rows/s")
    for key in others:
        print(f"  {medians['own'] / medians[key]:.2f} x {key} ({medians[key]:,.0f} rows/s)")


def main(rows: int) -> None:
    """Write the files, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        packed = data(rows)
        write_fixed_length(packed, f"{folder}/packed", 1)
        path = f"{folder}/packed/part-00000-of-00001.bin"
        compare(
            "fixed length",
            FixedLength((f"{folder}/packed",), batch_size=BATCH),
            {
                "block reader": lambda: block_reader(path),
                "FixedLengthRecordDataset": lambda: by_record(path),
            },
            rows,
        )
        fewer = rows // 5
        write_tfrecord(data(fewer), f"{folder}/records", 1)
        records = f"{folder}/records/part-00000-of-00001.tfrecord"
        compare(
            "TFRecord",
            TFRecord((f"{folder}/records",), batch_size=BATCH),
            {"batched parse_example": lambda: batched_parse(records)},
            fewer,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
