"""TFRecord files of ``tf.train.Example`` messages, read in blocks and parsed by whole batches."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.files import blocks
from tfdistribute.inputs.files.blocks import Block, Matrices, Source
from tfdistribute.inputs.files.file_input import FileInput
from tfdistribute.inputs.files.files import File, find_files, open_file, read_bytes
from tfdistribute.inputs.packed.layout import Layout
from tfdistribute.inputs.packed.packing import Packed
from tfdistribute.inputs.records.record_columns import chosen_columns, parse_column
from tfdistribute.inputs.records.shard_index import (
    ShardIndex,
    indexed_columns,
    with_shards,
    write_shards,
)
from tfdistribute.inputs.records.tfrecord_errors import first_fault

# A message has numbers of two kinds only, and strings.
_TYPES: Mapping[str, str] = {
    "float32": "float",
    "int32": "integer",
    "int64": "integer64",
    "bool": "logical",
    "string": "string",
}
# A record is its length (8 bytes), a checksum (4), the message, and a checksum (4).
_LENGTH = struct.Struct("<Q")
_HEADER_BYTES = 12
_FOOTER_BYTES = 4
_SCAN_BYTES = 8 * 2**20

# How TensorFlow names what parses messages, in its errors.
_PARSING = re.compile(r"ParseExample|parse example", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class TFRecord(FileInput, kind="tfrecord"):
    """Messages of features by name.

    Args:
        columns: What the messages hold, where the files have no index: dtypes by name, such as "int64",
            "string" or "float32[28, 28]". Empty: the index says it.
    """

    columns: dict[str, str] = field(default_factory=dict[str, str])

    def _open(self) -> Source:
        paths, _ = self._found
        files = find_files(paths)
        _ = self._chosen
        return _Messages(files)

    @cached_property
    def _found(self) -> tuple[list[str], ShardIndex | None]:
        return with_shards(self.paths, "tfrecord")

    @cached_property
    def _chosen(self) -> dict[str, ColumnFacts]:
        index = self._found[1]
        if not self.columns and index is None:
            raise InputError(
                f'There is no index beside "{self.paths[0]}", so `columns` is needed.',
                'Say what a message holds, for example columns = c(y = "int64", x = "float32[20]").',
                argument="columns",
            )
        known = [column.facts for column in index.columns] if index else []
        if self.columns:
            known = [_column(name, dtype) for name, dtype in self.columns.items()]
        return {each.name: each for each in chosen_columns(known, self.features, self.response)}

    def _columns(self, source: Source) -> dict[str, ColumnFacts]:
        return dict(self._chosen)

    def _taking_apart(
        self, source: Source, response: str | None, left_out: str | None, side_by_side: bool
    ) -> Callable[..., Any]:
        parsed = {name: facts for name, facts in self._chosen.items() if name != left_out}
        cast(_Messages, source).parsed = parsed
        return _parsing(parsed, response)

    def _explanation(self, source: Source, error: Exception) -> Exception | None:
        # TensorFlow puts the bytes that it cannot parse into the text of its error, which Python cannot always read.
        parsing = isinstance(error, UnicodeDecodeError) or _PARSING.search(str(error))
        return cast(_Messages, source).fault() if parsing else None

    def _parallel_calls(self) -> int | None:
        return cast(int, engine.tf.data.AUTOTUNE)


def _column(name: str, text: str) -> ColumnFacts:
    dtype, shape = parse_column(name, text, tuple(_TYPES))
    return ColumnFacts(name, _TYPES[dtype], shape)


def _parsing(columns: Mapping[str, ColumnFacts], response: str | None) -> Callable[..., Any]:
    tf = engine.tf
    stored = {"float32": tf.float32, "int32": tf.int64, "int64": tf.int64, "string": tf.string}
    spec = {
        name: tf.io.FixedLenFeature(facts.shape, stored[facts.dtype])
        for name, facts in columns.items()
    }

    def parse(matrices: tuple[Any, ...], _tables: tuple[Any, ...]) -> Any:
        # All batches of a chunk at once: TensorFlow divides them over its threads.
        messages = matrices[0][..., 0]
        parsed = tf.io.parse_example(tf.reshape(messages, [-1]), spec)
        rows = tf.shape(messages)
        found: dict[str, Any] = {}
        for name, facts in columns.items():
            values = tf.reshape(parsed[name], tf.concat([rows, facts.shape], 0))
            values.set_shape([*messages.shape, *facts.shape])
            found[name] = tf.cast(values, tf.int32) if facts.dtype == "int32" else values
        if response is None:
            return found
        label = found.pop(response)
        return found, label

    return parse


@dataclass(frozen=True)
class _Span:
    """Where the records of a block stand in their file."""

    offset: int
    size: int


class _Messages:
    """Records in blocks, as bytes."""

    layout = Layout((np.dtype(object),), (1,), {})

    def __init__(self, files: tuple[File, ...]) -> None:
        self.files = files
        self.parsed: Mapping[str, ColumnFacts] = {}
        self._last_read: dict[Block, None] = {}
        self._spans: dict[Block, _Span] = {}
        for number, file in enumerate(files):
            for block, span in _scanned(file):
                self._spans[replace(block, file=number)] = span
        self.blocks: Sequence[Block] = list(self._spans)
        rows = sum(block.rows for block in self.blocks)
        self.row_bytes = max(1, sum(span.size for span in self._spans.values()) // max(1, rows))

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        """Read rows of a block; on any thread."""
        yield (self._messages(block, start, stop),)

    def _messages(self, block: Block, start: int, stop: int) -> npt.NDArray[np.object_]:
        # The last one is at the end.
        self._last_read.pop(block, None)
        self._last_read[block] = None
        span = self._spans[block]
        content = read_bytes(self.files[block.file].path, span.offset, span.size)
        records = np.empty((stop - start, 1), dtype=object)
        position = 0
        for row in range(stop):
            first = position + _HEADER_BYTES
            last = first + _LENGTH.unpack_from(content, position)[0]
            if row >= start:
                records[row - start, 0] = content[first:last]
            position = last + _FOOTER_BYTES
        return records

    def fault(self) -> InputError | None:
        """Find a record that does not hold the columns, in the blocks that were read last."""
        for block in reversed(list(self._last_read)):
            records = self._messages(block, 0, block.rows)
            found = first_fault(records[:, 0].tolist(), self.parsed)
            if found is not None:
                path = self.files[block.file].path
                return InputError(
                    f'Record {block.first + found[0] + 1} of "{path}" {found[1]}.',
                    "Correct `columns`, or write the file again with every column in every record.",
                    argument="columns",
                    value=path,
                )
        return None


# What the files that were scanned last hold: verbs follow each other on the same files.
_SCANS: dict[File, list[tuple[Block, _Span]]] = {}
_SCANS_KEPT = 1000


def _scanned(file: File) -> list[tuple[Block, _Span]]:
    if file not in _SCANS:
        while len(_SCANS) >= _SCANS_KEPT:
            _SCANS.pop(next(iter(_SCANS)))
        _SCANS[file] = list(_scan(file))
    return _SCANS[file]


def _scan(file: File) -> Any:
    """Walk through the records of a file, by their lengths only."""
    with open_file(file.path) as stream:
        content, begin = b"", 0
        position, first, rows, start = 0, 0, 0, 0
        while position < file.size:
            if position + _HEADER_BYTES > begin + len(content):
                stream.seek(position)
                content, begin = stream.read(_SCAN_BYTES), position
            if position + _HEADER_BYTES > file.size or len(content) < _HEADER_BYTES:
                raise _cut_off(file, first + rows + 1)
            length = _LENGTH.unpack_from(content, position - begin)[0]
            position += _HEADER_BYTES + length + _FOOTER_BYTES
            if position > file.size:
                raise _cut_off(file, first + rows + 1)
            rows += 1
            if position - start >= blocks.BLOCK_BYTES or position == file.size:
                yield Block(0, first, rows), _Span(start, position - start)
                first, rows, start = first + rows, 0, position


def _cut_off(file: File, record: int) -> InputError:
    return InputError(
        f'The file "{file.path}" is cut off in record {record}'
        f"{', or is no TFRecord file' if record == 1 else ''}.",
        "Write it again; decompress it first if it is compressed.",
        argument="paths",
        value=file.path,
    )


def write_tfrecord(packed: Packed, directory: str, shards: int, listener: Any = None) -> ShardIndex:
    """Write packed data into TFRecord files of ``tf.train.Example`` messages.

    Args:
        packed: The data.
        directory: Where to write; it is made.
        shards: Number of files.
        listener: Told of each finished file; see ``write_shards``.

    Returns:
        The index.

    Raises:
        InputError: a column of date-times, which messages cannot hold exactly.
        ArgumentError: the directory holds other files, or cannot be written.
    """
    for name, place in packed.places.items():
        if place.facts.type == "datetime":
            raise InputError(
                f"The column `{name}` holds date-times, which a message cannot hold exactly.",
                "Turn it into a number, or use write_fixed_length().",
                argument=name,
            )
    columns = tuple(
        replace(column, dtype=column.facts.dtype, labels=None) for column in indexed_columns(packed)
    )

    def write(path: str, first: int, last: int) -> None:
        with engine.tf.io.TFRecordWriter(path) as writer:
            for row in range(first, last):
                writer.write(_message(packed, row))

    return write_shards(
        packed, directory, shards, ShardIndex("tfrecord", columns, {}), write, listener
    )


def _message(packed: Packed, row: int) -> bytes:
    train = engine.tf.train
    features: dict[str, Any] = {}
    for name, place in packed.places.items():
        values = packed.matrices[place.matrix][row, place.start : place.start + place.width]
        if name in packed.tables:
            texts = [str(text).encode() for text in packed.tables[name][values]]
            features[name] = train.Feature(bytes_list=train.BytesList(value=texts))
        elif place.facts.dtype == "float32":
            features[name] = train.Feature(float_list=train.FloatList(value=values))
        else:
            features[name] = train.Feature(int64_list=train.Int64List(value=values))
    return train.Example(features=train.Features(feature=features)).SerializeToString()
