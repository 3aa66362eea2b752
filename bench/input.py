"""Rows per second of inputs in a training step, compared with NumPy, pyarrow and TensorFlow on the same data.

    tools/env python bench/input.py [--quick] [--rows 2000000] [--runs 5] [--only Arrow]

Every pair reads the same rows of 20 float32 numbers in random order, in batches of 512, into the same step: a
``session.run`` that sums a batch of shape [512, 20]. The time is that of one epoch, including the filling of buffers.
The two sides of a pair take turns in one process. A ratio is the median of the ratios of neighbouring runs; above 1,
this package is faster. The CPU time per batch, over all threads, is more reliable on a busy machine. The other sides:

- in memory / NumPy gather: a Python generator draws 512 shuffled rows of an array, one batch per call, four prefetched.
- Arrow / block reader: NumPy reads 4 MB of a file of packed numbers, shuffles its rows, and returns one batch per call.
  It mixes rows of one block only; the package mixes 64 MB of blocks from the whole file.
- Arrow / blocks in the graph: TensorFlow reads 1 MB of packed numbers per record, decodes it, shuffles its rows with a
  gather and cuts batches. Blocks are shuffled, rows of different blocks are never mixed; the last block is left out.
- Arrow / by row: ``FixedLengthRecordDataset`` of single rows, shuffled over 10,000, decoded by batches.
- TFRecord / batched parse: ``TFRecordDataset``, shuffled over 10,000, ``parse_example`` of whole batches in parallel.
- CSV / CsvDataset: ``tf.data.experimental.CsvDataset``, shuffled over 10,000.
- Parquet / record batches: pyarrow reads record batches of 65,536 rows, NumPy stacks the columns, shuffles each record
  batch and returns one batch per call.

The package finds and counts its files before the clock starts (``facts()``), as it does once per description. The goals
are meant for 5 million rows (``--rows 5000000``), for which the first window of a file matters less.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.inputs import Arrow, Column, Csv, InMemory, Input, Parquet, TFRecord
from tfdistribute.inputs.packed.packing import pack
from tfdistribute.inputs.records.tfrecord import write_tfrecord
from tfdistribute.inputs.tables.arrow_file import write_arrow
from tfdistribute.inputs.tables.pyarrow_import import arrow_module

WIDTH = 20
BATCH = 512
NAMES = [f"x{number:02}" for number in range(WIDTH)]

# Goals on an idle machine.
WANTED = {
    ("in memory", "NumPy gather"): 0.95,
    ("Arrow", "block reader"): 0.95,
    ("Arrow", "blocks in the graph"): None,
    ("Arrow", "by row"): 4.0,
    ("TFRecord", "batched parse"): 1.0,
    ("CSV", "CsvDataset"): 2.0,
    ("Parquet", "record batches"): 0.9,
}

Make = Callable[[], Any]


@dataclass(frozen=True)
class Pair:
    """An input and its competitors."""

    source: Input
    rows: int
    others: dict[str, Make]


def values_of(rows: int) -> Any:
    return np.random.default_rng(1).random((rows, WIDTH), np.float32)


def wide_column(values: Any) -> Column:
    return Column("x", "float", lambda: values, (WIDTH,))


@dataclass(frozen=True)
class Run:
    """One pass over a dataset."""

    rows_per_s: float
    cpu_us_per_batch: float


def one_pass(make: Make, rows: int) -> Run:
    """Read a whole dataset in a graph, as an Estimator does."""
    tf = engine.tf
    with tf.Graph().as_default():
        iterator = tf.compat.v1.data.make_initializable_iterator(make())
        total = tf.reduce_sum(as_matrix(iterator.get_next()))
        with tf.compat.v1.Session() as session:
            session.run(iterator.initializer)
            start, cpu = time.perf_counter(), time.process_time()
            try:
                while True:
                    session.run(total)
            except tf.errors.OutOfRangeError:
                speed = rows / (time.perf_counter() - start)
                return Run(speed, 1e6 * (time.process_time() - cpu) * BATCH / rows)


def as_matrix(batch: Any) -> Any:
    """Stack the features, as a model does."""
    if isinstance(batch, engine.features.packed_features.PackedFeatures):
        features = engine.features.packed_features.Features.unpack(batch)
        return features.as_matrix(list(features))
    if isinstance(batch, dict):
        (batch,) = batch.values()
    return batch


def own(source: Input) -> Make:
    source.facts()
    return lambda: source.input_fn("train", 1, packed=True)()


def crossing(batches: Callable[[], Iterator[Any]]) -> Any:
    """Make a dataset of a Python generator of batches."""
    signature = engine.tf.TensorSpec([None, WIDTH], engine.tf.float32)
    dataset = engine.tf.data.Dataset.from_generator(batches, output_signature=signature)
    return dataset.prefetch(4)


def numpy_gather(values: Any) -> Any:
    def batches() -> Iterator[Any]:
        order = np.random.default_rng(1).permutation(len(values))
        for first in range(0, len(order), BATCH):
            yield values[order[first : first + BATCH]]

    return crossing(batches)


def block_reader(path: str) -> Any:
    def batches() -> Iterator[Any]:
        order = np.random.default_rng(1)
        with open(path, "rb") as file:
            while len(block := np.fromfile(file, np.float32, BATCH * 100 * WIDTH)):
                yield from shuffled(block.reshape(-1, WIDTH), order)

    return crossing(batches)


def shuffled(block: Any, order: np.random.Generator) -> Iterator[Any]:
    chosen = order.permutation(len(block))
    for first in range(0, len(block), BATCH):
        yield block[chosen[first : first + BATCH]]


def blocks_in_graph(path: str, rows: int) -> Any:
    tf = engine.tf
    at_once = BATCH * 25
    left_over = rows % at_once * 4 * WIDTH
    records = tf.data.FixedLengthRecordDataset(path, at_once * 4 * WIDTH, footer_bytes=left_over)

    def batches(record: Any) -> Any:
        block = tf.reshape(tf.io.decode_raw(record, tf.float32), [at_once, WIDTH])
        mixed = tf.gather(block, tf.random.shuffle(tf.range(at_once)))
        return tf.reshape(mixed, [-1, BATCH, WIDTH])

    return records.shuffle(64).map(batches).prefetch(1).unbatch().prefetch(4)


def by_row(path: str) -> Any:
    tf = engine.tf
    records = tf.data.FixedLengthRecordDataset(path, 4 * WIDTH).shuffle(10_000).batch(BATCH)
    return records.map(lambda batch: tf.io.decode_raw(batch, tf.float32)).prefetch(4)


def batched_parse(path: str) -> Any:
    tf = engine.tf
    spec = {"x": tf.io.FixedLenFeature((WIDTH,), tf.float32)}
    records = tf.data.TFRecordDataset(path).shuffle(10_000).batch(BATCH)
    parsed = records.map(lambda batch: tf.io.parse_example(batch, spec)["x"], tf.data.AUTOTUNE)
    return parsed.prefetch(4)


def csv_dataset(path: str) -> Any:
    tf = engine.tf
    rows = tf.data.experimental.CsvDataset(path, [tf.float32] * WIDTH, header=True)
    batches = rows.shuffle(10_000).batch(BATCH)
    return batches.map(lambda *columns: tf.stack(columns, 1), tf.data.AUTOTUNE).prefetch(4)


def record_batches(path: str) -> Any:
    def batches() -> Iterator[Any]:
        order = np.random.default_rng(1)
        parquet = arrow_module("pyarrow.parquet")
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=65_536):
                yield from shuffled(np.column_stack([c.to_numpy() for c in batch.columns]), order)

    return crossing(batches)


def in_memory(rows: int, _folder: str) -> Pair:
    values = values_of(rows)
    source = InMemory((wide_column(values),), batch_size=BATCH)
    return Pair(source, rows, {"NumPy gather": lambda: numpy_gather(values)})


def arrow(rows: int, folder: str) -> Pair:
    values, path = values_of(rows), f"{folder}/packed.bin"
    write_arrow(pack([wide_column(values)]), f"{folder}/arrow", 1)
    values.tofile(path)
    others: dict[str, Make] = {
        "block reader": lambda: block_reader(path),
        "blocks in the graph": lambda: blocks_in_graph(path, rows),
        "by row": lambda: by_row(path),
    }
    return Pair(Arrow((f"{folder}/arrow",), batch_size=BATCH), rows, others)


def tfrecord(rows: int, folder: str) -> Pair:
    rows //= 5
    write_tfrecord(pack([wide_column(values_of(rows))]), f"{folder}/records", 1)
    path = f"{folder}/records/part-00000-of-00001.tfrecord"
    source = TFRecord((f"{folder}/records",), batch_size=BATCH)
    return Pair(source, rows, {"batched parse": lambda: batched_parse(path)})


def table_of(rows: int) -> Any:
    return arrow_module("pyarrow").table(dict(zip(NAMES, values_of(rows).T, strict=True)))


def csv(rows: int, folder: str) -> Pair:
    rows //= 20
    path = f"{folder}/table.csv"
    arrow_module("pyarrow.csv").write_csv(table_of(rows), path)
    source = Csv((path,), batch_size=BATCH, types=dict.fromkeys(NAMES, "float"))
    return Pair(source, rows, {"CsvDataset": lambda: csv_dataset(path)})


def parquet(rows: int, folder: str) -> Pair:
    path = f"{folder}/table.parquet"
    # Groups of 10 MB: pyarrow's default of a million rows would be 80 MB.
    arrow_module("pyarrow.parquet").write_table(table_of(rows), path, row_group_size=2**17)
    source = Parquet((path,), batch_size=BATCH)
    return Pair(source, rows, {"record batches": lambda: record_batches(path)})


CASES: dict[str, Callable[[int, str], Pair]] = {
    "in memory": in_memory,
    "Arrow": arrow,
    "TFRecord": tfrecord,
    "CSV": csv,
    "Parquet": parquet,
}


def measured(case: str, pair: Pair, runs: int) -> list[dict[str, Any]]:
    """Let an input and its competitors take turns, and print one line of JSON per ratio."""
    makes = {"own": own(pair.source), **pair.others}
    for make in makes.values():
        # Exclude what happens once per process.
        one_pass(lambda make=make: make().take(2), pair.rows)
    done: dict[str, list[Run]] = {name: [] for name in makes}
    for _ in range(runs):
        for name, make in makes.items():
            done[name].append(one_pass(make, pair.rows))
    speeds = {name: [run.rows_per_s for run in each] for name, each in done.items()}
    cpu = {
        name: statistics.median(run.cpu_us_per_batch for run in each) for name, each in done.items()
    }
    found: list[dict[str, Any]] = []
    for name in pair.others:
        ratios = [a / b for a, b in zip(speeds["own"], speeds[name], strict=True)]
        found.append(
            {
                "case": case,
                "against": name,
                "rows": pair.rows,
                "runs": runs,
                "rows_per_s": round(statistics.median(speeds["own"])),
                "other_rows_per_s": round(statistics.median(speeds[name])),
                "cpu_us": round(cpu["own"]),
                "other_cpu_us": round(cpu[name]),
                "ratio": round(statistics.median(ratios), 2),
                "lowest": round(min(ratios), 2),
                "highest": round(max(ratios), 2),
                "wanted": WANTED[case, name],
            }
        )
        print(json.dumps(found[-1]), flush=True)
    return found


def main() -> None:
    """Measure and print a table."""
    asked = argparse.ArgumentParser(description="Speed of inputs.")
    asked.add_argument("--quick", action="store_true", help="few rows and runs")
    asked.add_argument("--rows", type=int)
    asked.add_argument("--runs", type=int)
    asked.add_argument("--only", default="", help="cases whose names begin so")
    given = asked.parse_args()
    rows = given.rows or (500_000 if given.quick else 2_000_000)
    runs = given.runs or (3 if given.quick else 5)
    results: list[dict[str, Any]] = []
    for case, make in CASES.items():
        if case.startswith(given.only):
            with tempfile.TemporaryDirectory() as folder:
                results += measured(case, make(rows, folder), runs)
    print(
        f"\n{'input':14}{'against':21}{'ratio':>7}{'wanted':>8}{'rows per second':>26}{'CPU us/batch':>16}"
    )
    for found in results:
        wanted = "-" if found["wanted"] is None else f"{found['wanted']:.2f}"
        speed = f"{found['rows_per_s']:,} / {found['other_rows_per_s']:,}"
        cpu = f"{found['cpu_us']} / {found['other_cpu_us']}"
        missed = found["wanted"] is not None and found["ratio"] < found["wanted"]
        print(
            f"{found['case']:14}{found['against']:21}{found['ratio']:>7.2f}{wanted:>8}{speed:>26}{cpu:>16}"
            f"{'   missed' if missed else ''}"
        )


if __name__ == "__main__":
    main()
