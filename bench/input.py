"""Gigabytes per second of file inputs in a training step, beside pyarrow or TensorFlow alone on the same files.

    tools/env python bench/input.py [--quick] [--runs 3] [--only "Parquet, lists"] [--cpus 1]

The whole table takes less than 5 minutes on two idle cores. Every case reads one file in several ways, which take turns
in one process:

- shuffled: this package's input as ``train()`` reads it, in batches of 512, into a ``session.run`` that sums a batch;
- in order: the same without shuffling;
- reader: the same step, with batches cut in the order of the file from what ``pyarrow.dataset`` returns, through
  ``from_generator``, or, for records, with ``TFRecordDataset`` and ``parse_example`` of whole batches in parallel;
- alone: ``pyarrow.dataset`` without a step, with all threads; NumPy sums the numbers of each record batch;
- copy: as many bytes in memory, by one thread.

A gigabyte counts the values as the step gets them: 4 bytes per number, the characters of a string, and the bytes of an
encoded image. A ratio is the median of the ratios of neighboring runs; above 1, this package is faster. The CPU time
per gigabyte, over all threads, is more reliable on a busy machine. ``--cpus 1`` keeps the process on one core, for the
gain of a second one. The time is that of one epoch, with the filling of buffers, but without the graph; the package
finds and counts the files before that (``facts()``), as it does once per description.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.inputs import Arrow, Csv, Parquet, TFRecord
from tfdistribute.inputs.files.file_input import FileInput
from tfdistribute.storage.buckets import arrow_module

BATCH = 512
MEGABYTE = 2**20
# Rows of few numbers are limited by their steps, not by their bytes.
MOST_ROWS = 1_500_000
# Megabytes of values in a file. More than two windows, so that most of an epoch is read ahead.
SIZES = {"Arrow": 192, "Parquet": 192, "TFRecord": 32, "CSV": 16}
# Of shuffled rows to the reader in the same step.
WANTED = 0.8

# Reads all rows, and returns the seconds that this took.
Read = Callable[[], float]


@dataclass(frozen=True)
class Case:
    """A file, the number of bytes of its values, and the readers of it."""

    source: FileInput
    bytes: int
    readers: dict[str, Read]
    # Turns the features of a batch into a number.
    step: Callable[[dict[str, Any]], Any]


def summed(features: dict[str, Any]) -> Any:
    tf = engine.tf
    return tf.add_n([tf.reduce_sum(each) for each in features.values()])


def counted(features: dict[str, Any]) -> Any:
    tf = engine.tf
    return tf.add_n([tf.size(each) for each in features.values()])


def decoded(features: dict[str, Any]) -> Any:
    tf = engine.tf
    images = tf.map_fn(tf.io.decode_jpeg, features["image"], fn_output_signature=tf.uint8)
    return tf.reduce_sum(tf.cast(images, tf.float32))


def in_steps(dataset: Callable[[], Any], step: Callable[[dict[str, Any]], Any]) -> Read:
    """Read a dataset in a graph, as an Estimator does."""

    def read() -> float:
        tf = engine.tf
        with tf.Graph().as_default():
            iterator = tf.compat.v1.data.make_initializable_iterator(dataset())
            batch = iterator.get_next()
            if isinstance(batch, engine.features.packed_features.PackedFeatures):
                features = engine.features.packed_features.Features.unpack(batch)
                batch = {"x": features.as_matrix(list(features))}
            total = step(batch)
            with tf.compat.v1.Session() as session:
                session.run(iterator.initializer)
                start = time.perf_counter()
                try:
                    while True:
                        session.run(total)
                except tf.errors.OutOfRangeError:
                    return time.perf_counter() - start

    return read


def numbers(rows: int, width: int) -> Any:
    return np.random.default_rng(1).random((rows, width), np.float32)


def lists(rows: int, width: int) -> tuple[Any, int]:
    pyarrow = arrow_module("pyarrow")
    values = numbers(rows, width)
    column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.ravel()), width)
    return pyarrow.table({"x": column}), values.nbytes


def columns(rows: int, width: int) -> tuple[Any, int]:
    values = numbers(rows, width)
    names = [f"x{number:04}" for number in range(width)]
    table = arrow_module("pyarrow").table(dict(zip(names, values.T.copy(), strict=True)))
    return table, values.nbytes


def strings(rows: int, _width: int) -> tuple[Any, int]:
    pyarrow = arrow_module("pyarrow")
    texts = [f"text number {each}" for each in np.random.default_rng(1).integers(10**9, size=rows)]
    return pyarrow.table({"x": texts}), sum(map(len, texts))


def dictionaries(rows: int, _width: int) -> tuple[Any, int]:
    pyarrow = arrow_module("pyarrow")
    codes = np.random.default_rng(1).integers(100, size=rows).astype(np.int32)
    labels = [f"label {code:02}" for code in range(100)]
    column = pyarrow.DictionaryArray.from_arrays(codes, labels)
    return pyarrow.table({"x": column}), 8 * rows


def table_case(make: Callable[[int, int], tuple[Any, int]], width: int) -> Callable[..., Case]:
    def case(kind: str, folder: str, megabytes: float) -> Case:
        size = 4 * width if make in (lists, columns) else 160
        # Thousands of columns take long whoever reads them.
        megabytes /= 1 if make is lists else max(1, width // 512)
        rows = min(MOST_ROWS, max(2 * BATCH, int(megabytes * MEGABYTE) // size))
        table, size = make(rows, width)
        path = f"{folder}/table.{kind.lower()}"
        write_table(kind, table, path, max(1, 4 * MEGABYTE * rows // size))
        source = {"Arrow": Arrow, "Parquet": Parquet, "CSV": Csv}[kind]((path,), batch_size=BATCH)
        is_number = make in (lists, columns)
        step = summed if is_number else counted
        readers = pyarrow_readers(kind, table.schema, path, step)
        return Case(source, size, readers, step)

    return case


def write_table(kind: str, table: Any, path: str, rows_at_once: int) -> None:
    if kind == "CSV":
        arrow_module("pyarrow.csv").write_csv(table, path)
    elif kind == "Parquet":
        arrow_module("pyarrow.parquet").write_table(table, path, row_group_size=rows_at_once)
    else:
        with arrow_module("pyarrow.ipc").new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=rows_at_once)


def pyarrow_readers(
    kind: str, schema: Any, path: str, step: Callable[[dict[str, Any]], Any]
) -> dict[str, Read]:
    dtype, file_format = "float32" if step is summed else "string", format_of(kind, schema)

    def read() -> Iterator[list[Any]]:
        dataset = arrow_module("pyarrow.dataset").dataset(path, format=file_format)
        for batch in dataset.to_batches():
            yield [values_of(column) for column in batch.columns]

    def batches() -> Iterator[Any]:
        for columns in read():
            matrix = columns[0] if len(columns) == 1 else np.column_stack(columns)
            for first in range(0, len(matrix), BATCH):
                yield (matrix[first : first + BATCH],)

    def alone() -> float:
        start = time.perf_counter()
        for columns in read():
            for column in columns if step is summed else ():
                column.sum()
        return time.perf_counter() - start

    def stepwise() -> Any:
        tf = engine.tf
        signature = (tf.TensorSpec(None, tf.as_dtype(dtype)),)
        made = tf.data.Dataset.from_generator(batches, output_signature=signature)
        return made.map(lambda matrix: {"x": matrix}).prefetch(4)

    return {"reader": in_steps(stepwise, step), "alone": alone}


def format_of(kind: str, schema: Any) -> Any:
    if kind != "CSV":
        return {"Arrow": "ipc", "Parquet": "parquet"}[kind]
    types = arrow_module("pyarrow.csv").ConvertOptions(column_types=schema)
    return arrow_module("pyarrow.dataset").CsvFileFormat(convert_options=types)


def values_of(column: Any) -> Any:
    types = arrow_module("pyarrow").types
    if types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(len(column), -1)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)


def record_case(width: int) -> Callable[..., Case]:
    def case(_kind: str, folder: str, megabytes: float) -> Case:
        tf, path = engine.tf, f"{folder}/rows.tfrecord"
        if width == 0:
            return image_case(folder, megabytes)
        rows = min(MOST_ROWS // 10, max(2 * BATCH, int(megabytes * MEGABYTE) // (4 * width)))
        with tf.io.TFRecordWriter(path) as file:
            for row in numbers(rows, width):
                values = tf.train.Feature(float_list=tf.train.FloatList(value=row))
                features = tf.train.Features(feature={"x": values})
                file.write(tf.train.Example(features=features).SerializeToString())
        source = TFRecord((path,), batch_size=BATCH, columns={"x": f"float32[{width}]"})
        spec = {"x": tf.io.FixedLenFeature((width,), tf.float32)}
        return Case(source, 4 * rows * width, record_readers(path, spec, summed), summed)

    return case


def image_case(folder: str, megabytes: float) -> Case:
    tf, path = engine.tf, f"{folder}/images.tfrecord"
    pixels = np.random.default_rng(1).integers(256, size=(64, 64, 3)).astype(np.uint8)
    image = tf.io.encode_jpeg(pixels).numpy()
    values = tf.train.Feature(bytes_list=tf.train.BytesList(value=[image]))
    message = tf.train.Example(features=tf.train.Features(feature={"image": values}))
    rows = int(megabytes * MEGABYTE) // len(image)
    with tf.io.TFRecordWriter(path) as file:
        for _ in range(rows):
            file.write(message.SerializeToString())
    source = TFRecord((path,), batch_size=BATCH, columns={"image": "string"})
    spec = {"image": tf.io.FixedLenFeature((), tf.string)}
    return Case(source, rows * len(image), record_readers(path, spec, decoded), decoded)


def record_readers(path: str, spec: Any, step: Callable[[dict[str, Any]], Any]) -> dict[str, Read]:
    def dataset() -> Any:
        tf = engine.tf
        records = tf.data.TFRecordDataset(path).batch(BATCH)
        parsed = records.map(lambda batch: tf.io.parse_example(batch, spec), tf.data.AUTOTUNE)
        return parsed.prefetch(4)

    return {"reader": in_steps(dataset, step)}


def cases() -> dict[tuple[str, str], Callable[..., Case]]:
    found: dict[tuple[str, str], Callable[..., Case]] = {}
    for kind in ("Arrow", "Parquet"):
        for width in (20, 512, 4096):
            found[kind, f"lists of {width:,}"] = table_case(lists, width)
        for width in (1, 20, 512, 4096):
            found[kind, f"columns, {width:,}"] = table_case(columns, width)
        found[kind, "strings"] = table_case(strings, 1)
        found[kind, "dictionary"] = table_case(dictionaries, 1)
    for width in (1, 20, 512, 4096):
        found["TFRecord", f"lists of {width:,}"] = record_case(width)
    found["TFRecord", "images, decoded"] = record_case(0)
    for width in (1, 20, 512, 4096):
        found["CSV", f"columns, {width:,}"] = table_case(columns, width)
    found["CSV", "strings"] = table_case(strings, 1)
    return found


def copying(size: int) -> Read:
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)

    def copy() -> float:
        start = time.perf_counter()
        np.copyto(target, source)
        return time.perf_counter() - start

    return copy


def measured(name: tuple[str, str], case: Case, runs: int) -> dict[str, Any]:
    """Let the ways take turns."""

    def own(source: FileInput) -> Read:
        packed = case.step is summed
        return in_steps(lambda: source.input_fn("train", 1, packed=packed)(), case.step)

    in_order = replace(case.source, shuffle=False)
    for source in (case.source, in_order):
        source.facts()
    ways: dict[str, Read] = {
        "shuffled": own(case.source),
        **case.readers,
        "in order": own(in_order),
        "copy": copying(case.bytes),
    }
    # What happens once per process, and when a file is first read.
    in_steps(lambda: case.source.input_fn("train", 1)().take(2), counted)()
    speeds: dict[str, list[float]] = {way: [] for way in ways}
    cpu: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(runs):
        for way, read in ways.items():
            used = time.process_time()
            speeds[way].append(case.bytes / 1e9 / read())
            cpu[way].append((time.process_time() - used) * 1e9 / case.bytes)

    def ratio(way: str, other: str) -> float:
        return statistics.median(a / b for a, b in zip(speeds[way], speeds[other], strict=True))

    return {
        "format": name[0],
        "rows": name[1],
        "speeds": {way: statistics.median(each) for way, each in speeds.items()},
        "cpu": {way: statistics.median(each) for way, each in cpu.items()},
        "shuffled / reader": ratio("shuffled", "reader"),
        "in order / reader": ratio("in order", "reader"),
        "shuffled / alone": ratio("shuffled", "alone") if "alone" in ways else None,
    }


WAYS = ("shuffled", "in order", "reader", "alone", "copy")
RATIOS = ("shuffled / reader", "in order / reader", "shuffled / alone")


def row_of(found: dict[str, Any]) -> str:
    speeds = [f"{found['speeds'][way]:.3g}" if way in found["speeds"] else "" for way in WAYS]
    ratios = ["" if found[each] is None else f"{found[each]:.2f}" for each in RATIOS]
    ratios[0] += "" if found[RATIOS[0]] >= WANTED else " missed"
    cpu = " / ".join(f"{found['cpu'][way]:.1f}" for way in WAYS[:3])
    return f"| {' | '.join([found['format'], found['rows'], *speeds, *ratios, cpu])} |"


def main() -> None:
    """Measure and print a table."""
    asked = argparse.ArgumentParser(description="Speed of file inputs.")
    asked.add_argument("--quick", action="store_true", help="small files")
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--only", default="", help="cases whose names begin so, such as CSV")
    asked.add_argument("--cpus", type=int, help="number of cores to use")
    asked.add_argument("--json", help="file for all numbers")
    given = asked.parse_args()
    if given.cpus is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cpus])
    results: list[dict[str, Any]] = []
    print(f"GB/s, {len(os.sched_getaffinity(0))} cores; wanted: shuffled / reader of {WANTED}\n")
    print(
        f"| format | rows | {' | '.join(WAYS)} | {' | '.join(RATIOS)} | CPU s/GB: {', '.join(WAYS[:3])} |"
    )
    print(f"|---|---|{'---:|' * (len(WAYS) + len(RATIOS) + 1)}")
    for name, make in cases().items():
        if not ", ".join(name).startswith(given.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            case = make(name[0], folder, SIZES[name[0]] / (8 if given.quick else 1))
            results.append(measured(name, case, given.runs))
        print(row_of(results[-1]), flush=True)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
