"""TFRecord files of ``tf.train.Example`` messages, read in blocks and parsed a batch at a time."""

import copy
import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.checksums import crc32c, masked
from tfdistribute.columns import MOST_VALUES, TYPES_OF_DTYPES, ColumnFacts, list_columns
from tfdistribute.descriptions.constraints import Pattern
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs.files import blocks
from tfdistribute.inputs.files.blocks import Block, Source
from tfdistribute.inputs.files.file_input import FileInput
from tfdistribute.inputs.files.files import File, find_files, open_file, read_bytes
from tfdistribute.inputs.packed.layout import Layout, Matrices
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.inputs.records.parsing import make_parse
from tfdistribute.inputs.records.tfrecord_errors import FOUND, first_fault, refuse_infinite
from tfdistribute.inputs.shards import ShardIndex, Shards, expand_shards, write_shards

# Column dtypes that messages can hold.
_DTYPES = ("float32", "int32", "int64", "bool", "string")
_DTYPE = Pattern(
    rf"({'|'.join(_DTYPES)})(\[[0-9]+( *, *[0-9]+)*\])?",
    "`{argument}` is {value}, which is not a dtype.",
    f'Use one of {", ".join(_DTYPES)}, with a shape such as "float32[28, 28]" if it has one.',
)

# A record is its length (8 bytes), a checksum (4), the message, and a checksum (4).
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_LENGTH_BYTES = 8
_SCAN_BYTES = 8 * 2**20

_Places = npt.NDArray[np.int64]

# Name of the parsing operation in TensorFlow's errors.
_PARSING = re.compile(r"ParseExample|parse example", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class TFRecord(FileInput, kind="tfrecord"):
    """Describe examples in TFRecord files.

    Args:
        paths: Paths, strings: the directory that [write_tfrecord()] wrote, files, or patterns such as
            `"data/part-*.tfrecord"`. The paths are on this machine or in a bucket, such as `"s3://bucket/data"`; see
            `vignette("model-dir-in-the-cloud")`.
        columns: Columns of the messages, for files without an index: a named vector of dtypes, optionally with shapes,
            such as `c(label = "int64", pixels = "float32[28, 28]", name = "string")`. The dtypes are float32, int64,
            int32 and bool (stored as int64, passed to the model as int32) and string. Every message must have all
            columns. [example_spec()] derives this argument from feature columns. NULL reads the index that
            [write_tfrecord()] wrote.
        verify: Whether the checksum of each record is compared with its content, TRUE or FALSE. A damaged record raises
            `tfdistribute_input_error` with its file and number. With FALSE, it is read without a check.
    """

    # dtypes by name, for files without an index, such as "float32[28, 28]".
    columns: dict[str, Annotated[str, _DTYPE]] = field(default_factory=dict[str, str])
    verify: bool = True

    _defaults: ClassVar[Mapping[str, tuple[float, ...]]] = {}

    def with_defaults(self, numbers: Mapping[str, tuple[float, ...]]) -> "TFRecord":
        completed = copy.copy(self)
        # Both read the same files, and keep their errors in one place.
        shared = {"_source": self._source, "_failures": self._failures}
        completed.__dict__.update(_defaults=numbers, **shared)
        return completed

    def _open(self) -> Source:
        files = find_files(self._shards.paths)
        largest = max(file.size for file in files)
        if largest == 0:
            raise InputError(
                f'"{files[0].path}" has no records: it has 0 bytes.',
                "Leave this file out, or write it again.",
                argument="paths",
                value=files[0].path,
            )
        for facts in self._chosen.values():
            if facts.width > largest:
                raise InputError(
                    f"`columns` gives `{facts.name}` {facts.width:,} values per row, and the largest file has "
                    f"{largest:,} bytes.",
                    "Give the shape of one row.",
                )
        messages = _Messages(files, self.verify)
        self._shards.check_rows(messages)
        return messages

    @cached_property
    def _shards(self) -> Shards:
        return expand_shards(self.paths, "tfrecord")

    @cached_property
    def _chosen(self) -> dict[str, ColumnFacts]:
        if not self.columns and self._shards.index is None:
            raise InputError(
                f'There is no index beside "{self.paths[0]}", so `columns` is needed.',
                'List the columns of a message, for example columns = c(y = "int64", x = "float32[20]").',
                argument="columns",
            )
        known = list(self._shards.facts.values())
        if self.columns:
            known = [_parse_column(name, text) for name, text in self.columns.items()]
        return {each.name: each for each in _choose_columns(known, self.features, self.response)}

    @property
    def _is_typed(self) -> bool:
        return not self.columns

    def _columns(self, source: Source) -> dict[str, ColumnFacts]:
        return dict(self._chosen)

    def _make_unpack(
        self, source: Source, label: str | None, dropped: str | None, packed: bool
    ) -> Callable[..., Any]:
        parsed = {name: facts for name, facts in self._chosen.items() if name != dropped}
        messages = cast(_Messages, source)
        messages.parsed, messages.optional = parsed, self._defaults.keys()
        return refuse_infinite(make_parse(parsed, label, self._defaults), label)

    def _explain(self, source: Source, error: Exception) -> Exception | None:
        # TensorFlow's error quotes the bytes that it cannot parse, which Python cannot always decode.
        messages = cast(_Messages, source)
        if self.response is not None and FOUND in str(error):
            return messages.fault(finite=self.response)
        parsing = isinstance(error, UnicodeDecodeError) or _PARSING.search(str(error))
        return messages.fault() if parsing else None


@dataclass(frozen=True)
class _Span:
    offset: int
    size: int


class _Messages:
    layout = Layout((np.dtype(object),), (1,), {})

    def __init__(self, files: tuple[File, ...], verify: bool) -> None:
        self.files = files
        self.memory = blocks.WindowMemory()
        self._verify = verify
        self.parsed: Mapping[str, ColumnFacts] = {}
        self.optional: Collection[str] = ()
        self._last_read: dict[Block, None] = {}
        self._spans: dict[Block, _Span] = {}
        for number, file in enumerate(files):
            for block, span in _scan(file):
                self._spans[replace(block, file=number)] = span
        self.blocks: Sequence[Block] = list(self._spans)
        rows = sum(block.rows for block in self.blocks)
        self.row_bytes = max(1, sum(span.size for span in self._spans.values()) // max(1, rows))

    def read(self, block: Block, start: int, stop: int) -> Iterator[Matrices]:
        yield (self._messages(block, start, stop),)

    def _messages(self, block: Block, start: int, stop: int) -> npt.NDArray[np.object_]:
        # Order the blocks by when they were last read.
        self._last_read.pop(block, None)
        self._last_read[block] = None
        span = self._spans[block]
        content = read_bytes(self.files[block.file].path, span.offset, span.size)
        places = [each[start:stop] for each in _find_messages(content, block.rows)]
        spans = zip(places[0].tolist(), places[1].tolist(), strict=True)
        records = np.empty((stop - start, 1), dtype=object)
        records[:, 0] = [content[first:last] for first, last in spans]
        if self._verify:
            self._check(block, start, content, places, records[:, 0].tolist())
        return records

    def _check(
        self, block: Block, start: int, content: bytes, places: list[_Places], messages: list[bytes]
    ) -> None:
        memory, (begin, end) = np.frombuffer(content, np.uint8), places
        # Few lengths belong to many messages.
        lengths, which = np.unique(end - begin, return_inverse=True)

        def crcs_of(texts: list[bytes]) -> Any:
            crcs: Any = np.fromiter(map(partial(crc32c(), 0), texts), np.uint64, len(texts))
            return masked(crcs)

        crcs = crcs_of([int(each).to_bytes(_LENGTH_BYTES, "little") for each in lengths])[which]
        stored = [memory[at[:, np.newaxis] + np.arange(4)] for at in (begin - _FOOTER.size, end)]
        of_lengths, of_messages = (each.view(np.uint32)[:, 0] for each in stored)
        wrong = (crcs != of_lengths) | (crcs_of(messages) != of_messages)
        if wrong.any():
            path, record = self.files[block.file].path, block.first + start + int(wrong.argmax())
            raise InputError(
                f'Record {record + 1} of "{path}" is damaged: its checksum does not match its content.',
                "Write the file again; verify = FALSE reads it as it is.",
                argument="paths",
                value=path,
            )

    def fault(self, finite: str | None = None) -> InputError | None:
        for block in reversed(list(self._last_read)):
            records = self._messages(block, 0, block.rows)
            fault = first_fault(records[:, 0].tolist(), self.parsed, self.optional, finite)
            if fault is not None:
                path = self.files[block.file].path
                return InputError(
                    f'Record {block.first + fault[0] + 1} of "{path}" {fault[1]}.',
                    "Correct `columns`, or write the file again with every column in every record."
                    if finite is None
                    else "Rescale the response or remove these rows.",
                    argument=finite or "columns",
                    value=path,
                )
        return None


def _find_messages(content: bytes, rows: int) -> tuple[_Places, _Places]:
    """Return where the messages of a block begin and end."""
    around = _HEADER.size + _FOOTER.size
    sizes, firsts = np.full(rows, len(content) // rows), np.arange(rows) * (len(content) // rows)
    headers = np.frombuffer(content, np.uint8)[firsts[:, np.newaxis] + np.arange(_LENGTH_BYTES)]
    if len(content) % rows or (headers.view(np.int64)[:, 0] + around != sizes).any():
        position = 0
        for row in range(rows):
            sizes[row] = size = _HEADER.unpack_from(content, position)[0] + around
            position += size
    ends = np.cumsum(sizes)
    return ends - sizes + _HEADER.size, ends - _FOOTER.size


# Successive verbs often read the same files; a file that has changed is another key.
@lru_cache(maxsize=1000)
def _scan(file: File) -> tuple[tuple[Block, _Span], ...]:
    return tuple(_find_records(file))


def _find_records(file: File) -> Iterator[tuple[Block, _Span]]:
    """Find a file's records from their lengths, without reading the messages."""
    with open_file(file.path) as stream:
        content, begin = b"", 0
        position, first, rows, start = 0, 0, 0, 0
        while position < file.size:
            if position + _HEADER.size > begin + len(content):
                stream.seek(position)
                content, begin = stream.read(_SCAN_BYTES), position
            if position + _HEADER.size > file.size or len(content) < _HEADER.size:
                raise _cut_off(file, first + rows + 1)
            length = _HEADER.unpack_from(content, position - begin)[0]
            position += _HEADER.size + length + _FOOTER.size
            if position > file.size:
                raise _cut_off(file, first + rows + 1)
            rows += 1
            if position - start >= blocks.BLOCK_BYTES or position == file.size:
                yield Block(0, first, rows), _Span(start, position - start)
                first, rows, start = first + rows, 0, position


def _cut_off(file: File, record: int) -> InputError:
    return InputError(
        f'The file "{file.path}" is cut off in record {record}'
        f"{', or is not a TFRecord file' if record == 1 else ''}.",
        "Write it again; decompress it first if it is compressed.",
        argument="paths",
        value=file.path,
    )


def write_tfrecord(
    packed: PackedColumns, directory: str, shards: int, listener: Any = None
) -> ShardIndex:
    """Write packed data into files of ``tf.train.Example`` messages, as ``write_shards`` does.

    Raises InputError for a date-time column, which messages cannot hold exactly.
    """
    for name, facts in packed.layout.facts.items():
        if facts.type == "datetime":
            raise InputError(
                f"The column `{name}` holds date-times, which a message cannot hold exactly.",
                "Turn it into a number, or use write_arrow().",
                argument=name,
            )

    def write(path: str, first: int, last: int) -> None:
        with engine.tf.io.TFRecordWriter(path) as writer:
            for row in range(first, last):
                writer.write(_message(packed, row))

    return write_shards(packed, directory, shards, "tfrecord", write, listener)


def _message(packed: PackedColumns, row: int) -> bytes:
    train, tables = engine.tf.train, packed.layout.tables
    features: dict[str, Any] = {}
    for name, slot in packed.layout.slots.items():
        values = slot.of(packed.matrices)[row]
        if name in tables:
            texts = [str(text).encode() for text in tables[name][values]]
            features[name] = train.Feature(bytes_list=train.BytesList(value=texts))
        elif slot.facts.dtype == "float32":
            features[name] = train.Feature(float_list=train.FloatList(value=values))
        else:
            features[name] = train.Feature(int64_list=train.Int64List(value=values))
    return train.Example(features=train.Features(feature=features)).SerializeToString()


def _choose_columns(
    columns: Sequence[ColumnFacts], features: Sequence[str] | None, response: str | None
) -> list[ColumnFacts]:
    known = {column.name: column for column in columns}
    names = [name for name in known if name != response] if features is None else list(features)
    for argument, name in [("features", each) for each in names] + [("response", response)]:
        if name is not None and name not in known:
            raise InputError(
                f"`{argument}` names `{name}`, but the files have no such column.",
                list_columns(known),
                value=name,
            )
    return [known[name] for name in [*names, *([] if response is None else [response])]]


def _parse_column(name: str, text: str) -> ColumnFacts:
    dtype, _, sizes = text.removesuffix("]").partition("[")
    shape = tuple(int(size[:20]) for size in sizes.split(",")) if sizes else ()
    facts = ColumnFacts(name, TYPES_OF_DTYPES[dtype], shape)
    if not 1 <= facts.width <= MOST_VALUES:
        raise ArgumentError(
            f'`columns${name}` is "{text[:100]}", which has {"no" if facts.width == 0 else "too many"} values.',
            f"Give each row between 1 and {MOST_VALUES:,} values.",
            argument="columns",
            value=text[:100],
        )
    return facts
