"""Conversion of any input to sharded files with an index.

Writers need the number of rows and all strings in advance, but a function reveals them only at its end. Rows that are
not in memory are therefore first written to temporary files, packed, which are then mapped into memory.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import TYPES_OF_DTYPES, ColumnFacts, InputFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import Input
from tfdistribute.inputs.memory import InMemory
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.inputs.records.tfrecord import write_tfrecord
from tfdistribute.inputs.sharding_audit import read_batches
from tfdistribute.inputs.shards import CACHE, ShardIndex, check_target, write_error
from tfdistribute.inputs.tables.arrow_file import write_arrow

# A column's distinct strings are held in memory and in the index.
MOST_LABELS = 2_000_000
_REPORT_EVERY_S = 0.1

Listener = Callable[[dict[str, int]], Any]

WRITERS: Mapping[str, Callable[..., ShardIndex]] = {
    "arrow": write_arrow,
    "tfrecord": write_tfrecord,
}


def write_input(
    source: Input,
    format: str,  # noqa: A002
    directory: str,
    shards: int,
    listener: Callable[[dict[str, int]], Any] | None = None,
) -> ShardIndex:
    """Write the rows of an input, finite and unshuffled, in order.

    Data that is not in memory is first read batch by batch into temporary files beside the shards. Memory use is one
    batch and the distinct strings, whatever the number of rows. Raises ArgumentError if there are fewer rows than
    shards.
    """
    directory = check_target(directory)
    write = WRITERS[format]
    if isinstance(source, InMemory):
        return write(source.packed, directory, shards, listener)
    cache = os.path.join(directory, CACHE)
    shutil.rmtree(cache, ignore_errors=True)
    try:
        with cache_on_disk(source, cache, listener) as packed:
            return write(packed, directory, shards, listener)
    except OSError as error:
        raise write_error(directory, error) from error
    finally:
        # Succeeds only if nothing was written.
        with contextlib.suppress(OSError):
            os.rmdir(directory)


@contextlib.contextmanager
def cache_on_disk(
    source: Input, directory: str, listener: Listener | None = None
) -> Iterator[PackedColumns]:
    os.makedirs(directory)
    cache = None
    try:
        facts = source.facts()
        reported = time.monotonic()
        for batch in read_batches(source, "evaluate", 0):
            columns = _by_name(batch, facts)
            cache = cache or _DiskCache(directory, _columns(columns, facts))
            cache.add(columns)
            if listener is not None and time.monotonic() - reported >= _REPORT_EVERY_S:
                reported = time.monotonic()
                listener({"read": cache.rows})
        if cache is None:
            raise InputError("The input has no rows.", "Give data with at least one row.")
        yield cache.packed()
    finally:
        if cache is not None:
            cache.close()
        shutil.rmtree(directory, ignore_errors=True)


def _by_name(batch: Any, facts: InputFacts) -> dict[str, Any]:
    features, label = batch if isinstance(batch, tuple) else (batch, None)
    if not isinstance(features, Mapping):
        features = {"features": features}
    columns: dict[str, Any] = dict(cast(Mapping[str, Any], features))
    if facts.weights is not None:
        columns[facts.weights.name] = columns.pop(facts.weights.name)
    if label is not None:
        name = "label" if facts.label is None else facts.label.name
        if name in columns or isinstance(label, Mapping):
            raise InputError(
                f"The label cannot be written beside the features: `{name}` "
                f"{'is a feature' if name in columns else 'holds several columns'}.",
                "Give one label, and features by other names.",
                argument=name,
            )
        columns[name] = label
    return columns


def _columns(columns: Mapping[str, Any], facts: InputFacts) -> list[ColumnFacts]:
    known = dict(facts.features or {})
    for column in (facts.weights, facts.label):
        if column is not None and facts.features is not None:
            known[column.name] = column
    return [known.get(name) or _column(name, values) for name, values in columns.items()]


def _column(name: str, values: Any) -> ColumnFacts:
    dtype = values.dtype.name if isinstance(values, np.ndarray) else type(values).__name__
    if dtype not in TYPES_OF_DTYPES or values.ndim == 0:
        raise InputError(
            f"The feature `{name}` holds {dtype}, which files cannot hold.",
            "Turn it into a tensor of numbers or strings, one entry per row.",
            argument=name,
        )
    return ColumnFacts(name, TYPES_OF_DTYPES[dtype], tuple(values.shape[1:]))


class _DiskCache:
    def __init__(self, directory: str, columns: list[ColumnFacts]) -> None:
        strings = [column.name for column in columns if column.type == "string"]
        unread = np.empty(0, dtype=object)
        self._layout: Layout = Layout.of(columns, dict.fromkeys(strings, unread))
        self._codes: dict[str, dict[bytes, int]] = {name: {} for name in strings}
        for column in columns:
            for level in column.levels or ():
                self._code(column.name, level.encode())
        self._paths = [
            os.path.join(directory, f"matrix-{number}")
            for number in range(len(self._layout.dtypes))
        ]
        self._files: list[BinaryIO] = [open(path, "wb") for path in self._paths]  # noqa: SIM115 - closed by close()
        self.rows = 0

    def close(self) -> None:
        for file in self._files:
            file.close()

    def add(self, columns: Mapping[str, Any]) -> None:
        slots = self._layout.slots
        if set(columns) != set(slots):
            other = sorted(set(columns) ^ set(slots))[0]
            raise InputError(
                f"The column `{other}` is not in every batch.",
                "Give the same columns in every batch.",
                argument=other,
            )
        rows = len(next(iter(columns.values())))
        matrices = self._layout.empty(rows)
        for name, slot in slots.items():
            values = np.asarray(columns[name])
            if values.size != rows * slot.facts.width:
                raise InputError(
                    f"The column `{name}` has other shapes in some batches.",
                    "Give the same shape in every batch.",
                    argument=name,
                )
            if name in self._codes:
                values = self._coded(name, values)
            target = slot.of(matrices)
            target[...] = values.reshape(target.shape)
        for matrix, file in zip(matrices, self._files, strict=True):
            file.write(matrix.data)
        self.rows += rows

    def _coded(self, name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        coded = np.fromiter(
            (self._code(name, text) for text in values.ravel()), np.int32, values.size
        )
        if len(self._codes[name]) > MOST_LABELS:
            raise InputError(
                f"The column `{name}` has more than {MOST_LABELS:,} different strings, too many to keep in memory.",
                "Leave it out, or turn it into numbers, for example by hashing.",
                argument=name,
            )
        return coded

    def _code(self, name: str, text: bytes) -> int:
        codes = self._codes[name]
        return codes.setdefault(text, len(codes))

    def packed(self) -> PackedColumns:
        self.close()
        matrices = tuple(
            np.memmap(path, dtype, "r", shape=(self.rows, width))
            for path, dtype, width in zip(
                self._paths, self._layout.dtypes, self._layout.widths, strict=True
            )
        )
        tables = {name: _table(name, codes) for name, codes in self._codes.items()}
        return PackedColumns(matrices, replace(self._layout, tables=tables))


def _table(name: str, codes: Mapping[bytes, int]) -> npt.NDArray[np.object_]:
    try:
        return np.array([text.decode() for text in codes], dtype=object)
    except UnicodeDecodeError as error:
        raise InputError(
            f"The column `{name}` holds bytes that are not text in UTF-8.",
            "Turn it into numbers, as tf$io$decode_raw() does, or leave it out.",
            argument=name,
        ) from error
