"""Verification of a checkpoint's contents by the checksums that TensorFlow writes into it.

A checkpoint is an index and one or more files of tensors, its shards. The index is a table with the place and the
checksum of each tensor. It consists of blocks, each of which has a checksum too.

Source:
    https://github.com/google/leveldb/blob/main/doc/table_format.md for the table, and
    tensorflow/core/protobuf/tensor_bundle.proto for its entries.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from tfdistribute import storage
from tfdistribute.checksums import crc32c, masked
from tfdistribute.files import is_remote

_FOOTER_BYTES = 48
_FOOTER_END = (0xDB4775248B80FB57).to_bytes(8, "little")
_READ_BYTES = 1 << 22

# Numbers of the fields of a BundleEntryProto.
_DTYPE, _SHAPE, _SHARD, _OFFSET, _SIZE, _CRC, _SLICES = range(1, 8)
# Numbers of DataType: their checksums are not those of the bytes in the file.
_STRING, _VARIANT = 7, 21

# Checkpoints that this process has verified: the names, sizes and times of their files, and the result.
_verified: dict[str, tuple[object, bool]] = {}


class _BrokenError(Exception):
    pass


class _UnknownFormatError(Exception):
    pass


@dataclass(frozen=True)
class _Tensor:
    dtype: int
    elements: int
    shard: int
    offset: int
    size: int
    crc: int


def is_whole(prefix: str) -> bool:
    """Return whether a checkpoint can be restored: all of its files exist, and their checksums are right.

    All of it is read, but only once in a process while its files stay the same. On remote storage, whose files are
    either whole or not there, only the index is read, and the sizes of the others are compared with it. ``prefix`` is
    the path without the ending, such as "models/m/model.ckpt-200".
    """
    signature = signature_of(prefix)
    known = _verified.get(prefix)
    if known is not None and known[0] == signature:
        return known[1]
    try:
        _verify(prefix)
        whole = True
    except _UnknownFormatError:
        whole = True
    except (OSError, _BrokenError, IndexError, struct.error):
        whole = False
    _verified[prefix] = signature, whole
    return whole


def files_of(prefix: str) -> list[str]:
    """List the files of a checkpoint, whether it is whole or not."""
    directory, name = os.path.split(prefix)
    endings = tuple(f"{name}{ending}" for ending in (".index", ".data-", ".meta"))
    names = storage.of(directory).names(directory)
    return [os.path.join(directory, each) for each in names if each.startswith(endings)]


def signature_of(prefix: str) -> object:
    """Return the names, sizes and times of the files of a checkpoint, by which a change is noticed."""
    statuses: list[tuple[str, storage.Status]] = []
    for file in files_of(prefix):
        try:
            statuses.append((file, storage.of(file).status(file)))
        except OSError:
            continue
    return statuses


def _verify(prefix: str) -> None:
    shards, tensors = _read_index(prefix)
    for shard in range(shards):
        # A shard without tensors is an empty file.
        path = f"{prefix}.data-{shard:05d}-of-{shards:05d}"
        own = [tensor for tensor in tensors if tensor.shard == shard]
        if is_remote(path):
            least = max((tensor.offset + tensor.size for tensor in own), default=0)
            if storage.of(path).status(path).size < least:
                raise _BrokenError
            continue
        with storage.of(path).open(path) as file:
            for tensor in own:
                file.seek(tensor.offset)
                _verify_tensor(file, tensor)


def _verify_tensor(file: BinaryIO, tensor: _Tensor) -> None:
    extend, crc, left = crc32c(), 0, tensor.size
    if tensor.dtype == _STRING:
        # The checksum is that of the lengths as fixed-size numbers, and then of what follows them in the file.
        head = file.read(tensor.size)
        position = 0
        for _ in range(tensor.elements):
            length, position = _varint(head, position)
            crc = extend(crc, length.to_bytes(4 if length < 1 << 32 else 8, "little"))
        crc, left = extend(crc, head[position:]), tensor.size - len(head)
    while left:
        chunk = file.read(min(left, _READ_BYTES))
        if not chunk:
            raise _BrokenError
        crc, left = extend(crc, chunk), left - len(chunk)
    if tensor.dtype != _VARIANT and masked(crc) != tensor.crc:
        raise _BrokenError


def _read_index(prefix: str) -> tuple[int, list[_Tensor]]:
    table = storage.read_bytes(f"{prefix}.index")
    if len(table) < _FOOTER_BYTES or not table.endswith(_FOOTER_END):
        raise _BrokenError
    footer = table[-_FOOTER_BYTES:]
    # A block for filters, of which TensorFlow writes none, and the block that lists the others.
    filters, position = _handle(footer, 0)
    blocks, _ = _handle(footer, position)
    if list(_entries(table, filters)):
        raise _UnknownFormatError
    shards, tensors = 0, list[_Tensor]()
    for _, handle in _entries(table, blocks):
        for key, value in _entries(table, _handle(handle, 0)[0]):
            fields = dict(_fields(value))
            if key == b"":
                # The header, whose first field is the number of shards.
                shards = cast("int", fields.get(1, 1))
            elif _SLICES not in fields:
                # A variable in slices has an entry of its own for each slice.
                tensors.append(_tensor(fields))
    if shards < 1 or any(tensor.shard >= shards for tensor in tensors):
        raise _BrokenError
    return shards, sorted(tensors, key=lambda tensor: (tensor.shard, tensor.offset))


def _tensor(fields: dict[int, int | bytes]) -> _Tensor:
    elements = 1
    for number, dimension in _fields(cast("bytes", fields.get(_SHAPE, b""))):
        if number == 2:
            elements *= cast("int", dict(_fields(cast("bytes", dimension))).get(1, 0))
    numbers = (fields.get(each, 0) for each in (_SHARD, _OFFSET, _SIZE, _CRC))
    shard, offset, size, crc = cast("Iterator[int]", numbers)
    return _Tensor(cast("int", fields.get(_DTYPE, 0)), elements, shard, offset, size, crc)


def _handle(data: bytes, position: int) -> tuple[tuple[int, int], int]:
    offset, position = _varint(data, position)
    size, position = _varint(data, position)
    return (offset, size), position


def _entries(table: bytes, handle: tuple[int, int]) -> Iterator[tuple[bytes, bytes]]:
    offset, size = handle
    end = offset + size
    (checksum,) = struct.unpack_from("<I", table, end + 1)
    if masked(crc32c()(0, table[offset : end + 1])) != checksum:
        raise _BrokenError
    if table[end] != 0:
        # A compressed block, which TensorFlow can read but does not write.
        raise _UnknownFormatError
    # At its end are the positions of the keys that do not share their beginning, and their number.
    (restarts,) = struct.unpack_from("<I", table, end - 4)
    position, last, key = offset, end - 4 * (restarts + 1), b""
    while position < last:
        shared, position = _varint(table, position)
        own, position = _varint(table, position)
        value_bytes, position = _varint(table, position)
        key = key[:shared] + table[position : position + own]
        position += own
        yield key, table[position : position + value_bytes]
        position += value_bytes


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Iterate over the fields of a protobuf message (https://protobuf.dev/programming-guides/encoding)."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, position = _varint(message, position)
        elif kind == 2:
            size, position = _varint(message, position)
            value, position = message[position : position + size], position + size
        elif kind == 5:
            (value,) = struct.unpack_from("<I", message, position)
            position += 4
        else:
            raise _UnknownFormatError
        yield number, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
