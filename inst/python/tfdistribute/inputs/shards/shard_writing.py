"""Writing of sharded files, resumable after an interruption."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfdistribute.errors import ArgumentError
from tfdistribute.inputs.files.files import is_local
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.inputs.shards.shard_index import INDEX, UNFINISHED, ShardIndex, indexed_columns
from tfdistribute.sharding import split

# Directory that caches rows until their number is known.
CACHE = "rows.unfinished"


def write_shards(
    packed: PackedColumns,
    directory: str,
    shards: int,
    format: str,  # noqa: A002
    write: Callable[[str, int, int], None],
    listener: Callable[[dict[str, int]], Any] | None = None,
) -> ShardIndex:
    """Write files one after another, then the index.

    A file gets its name once it is complete. After an interruption, finished files are kept if the same data is written
    into the same number of files. ``write`` gets the path of a file, its first row, and the row after its last; the
    listener, for each finished file, ``{"shard": 1, "shards": 4, "rows": 100}``. Raises ArgumentError if the directory
    holds finished files or is not writable.
    """
    directory = check_target(directory)
    if packed.rows < shards:
        raise ArgumentError(
            f"`shards` must be at most the number of rows, {packed.rows}, not {shards}.",
            "Give fewer shards.",
            argument="shards",
            value=str(shards),
        )
    sizes = split(packed.rows, shards)
    names = [f"part-{number:05d}-of-{shards:05d}.{format}" for number in range(shards)]
    rows = dict(zip(names, sizes, strict=True))
    index = ShardIndex(format, indexed_columns(packed), rows)
    index = replace(index, digest=_digest(packed, index))
    try:
        _begin(directory, index)
        first = 0
        for number, (name, size) in enumerate(rows.items(), start=1):
            path = os.path.join(directory, name)
            if not os.path.exists(path):
                write(path + ".unfinished", first, first + size)
                os.replace(path + ".unfinished", path)
            first += size
            if listener is not None:
                listener({"shard": number, "shards": shards, "rows": size})
        os.replace(os.path.join(directory, UNFINISHED), os.path.join(directory, INDEX))
    except OSError as error:
        raise write_error(directory, error) from error
    return index


def check_target(path: str) -> str:
    """Return the local directory for shards at a path; ArgumentError if it is remote or holds other files."""
    if not is_local(path):
        raise ArgumentError(
            f'`path` must be a directory of this machine, not "{path}".',
            "Write the files here and copy the directory.",
            argument="path",
            value=path,
        )
    directory = os.path.expanduser(path)
    try:
        held = set(os.listdir(directory)) if os.path.lexists(directory) else set[str]()
    except OSError as error:
        raise write_error(directory, error) from error
    if INDEX in held:
        raise ArgumentError(
            f'`path` "{directory}" holds finished files already.',
            "Choose another directory, or delete this one.",
            argument="path",
            value=directory,
        )
    if held - {CACHE} and UNFINISHED not in held:
        raise ArgumentError(
            f'`path` "{directory}" is not empty.',
            "Choose another directory.",
            argument="path",
            value=directory,
        )
    return directory


def write_error(directory: str, error: OSError) -> ArgumentError:
    return ArgumentError(
        f'`path` "{directory}" cannot be written: {error.strerror or error}.',
        "Free space there, or choose another directory.",
        argument="path",
        value=directory,
    )


def _begin(directory: str, index: ShardIndex) -> None:
    """Create the directory and remove files of other data."""
    os.makedirs(directory, exist_ok=True)
    unfinished = os.path.join(directory, UNFINISHED)
    text = index.as_json()
    with contextlib.suppress(OSError), open(unfinished, encoding="utf-8") as file:
        if file.read() == text:
            return
    # Other data was being written; its files are this package's and can be deleted.
    for name in os.listdir(directory):
        if name.startswith("part-"):
            os.remove(os.path.join(directory, name))
    with open(unfinished + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(unfinished + ".new", unfinished)


def _digest(packed: PackedColumns, index: ShardIndex) -> str:
    digest = hashlib.blake2b(index.as_json().encode(), digest_size=16)
    for matrix in packed.matrices:
        digest.update(matrix.data)
    for table in packed.layout.tables.values():
        digest.update("\0".join(map(str, table)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
