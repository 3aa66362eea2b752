"""Sharded files with an index beside them, which is written last: where there is none, the files are not finished."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs.files.files import exists, is_directory, is_local, open_file
from tfdistribute.inputs.packed.packing import Packed
from tfdistribute.sharding import split

INDEX = "index.json"
_UNFINISHED = "index.json.unfinished"
# Where rows wait until their number is known.
SPOOL = "rows.unfinished"


@dataclass(frozen=True)
class IndexedColumn:
    """A column in files.

    Args:
        facts: What it is for models.
        dtype: Name of the NumPy dtype in which a file of fixed length keeps it.
        labels: The strings that codes stand for; None where the values stand for themselves.
        range: Smallest and largest value of a column of numbers.
    """

    facts: ColumnFacts
    dtype: str
    labels: tuple[str, ...] | None = None
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class ShardIndex:
    """What the index says.

    Args:
        format: "fixed_length" or "tfrecord".
        columns: The columns in their order.
        rows: Rows of each file, by its name.
        digest: Tells data apart, so that writing can go on where it stopped.
    """

    format: str
    columns: tuple[IndexedColumn, ...]
    rows: Mapping[str, int]
    digest: str = ""

    def as_json(self) -> str:
        """Write it as text."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> ShardIndex:
        """Read it from text.

        Raises:
            ValueError, KeyError, TypeError: it is no index.
        """
        fields = json.loads(text)
        columns = [
            IndexedColumn(
                ColumnFacts(
                    column["facts"]["name"],
                    column["facts"]["type"],
                    tuple(column["facts"]["shape"]),
                    _tuple(column["facts"]["levels"]),
                ),
                column["dtype"],
                _tuple(column["labels"]),
                _tuple(column["range"]),
            )
            for column in fields["columns"]
        ]
        return cls(fields["format"], tuple(columns), fields["rows"], fields["digest"])


def _tuple(values: Any) -> Any:
    return None if values is None else tuple(values)


def read_index(directory: str, format: str) -> ShardIndex | None:  # noqa: A002
    """Read the index of a directory.

    Args:
        directory: Where the files are.
        format: What they must be.

    Returns:
        The index; None where there is none, or one of another format.

    Raises:
        InputError: it cannot be read, or the files are not finished.
    """
    path = _beside(directory, INDEX)
    if not exists(path):
        if exists(_beside(directory, _UNFINISHED)):
            raise InputError(
                f'The files in "{directory}" are not finished.',
                "Write them again: what is finished is kept.",
                argument="paths",
                value=directory,
            )
        return None
    with open_file(path) as stream:
        text = stream.read()
    try:
        index = ShardIndex.from_json(text.decode())
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f'The file "{path}" is no index of this package.',
            "Write the files again.",
            argument="paths",
            value=path,
        ) from error
    return index if index.format == format else None


def with_shards(paths: Sequence[str], format: str) -> tuple[list[str], ShardIndex | None]:  # noqa: A002
    """Put the shards of an index in the place of their directory.

    Args:
        paths: Paths or patterns.
        format: What the files must be.

    Returns:
        The paths, and the index of the first directory that has one.

    Raises:
        InputError: as ``read_index``; or the indexes of two directories tell of different columns.
    """
    found: list[str] = []
    first: ShardIndex | None = None
    for path in paths:
        directory = path if is_directory(path) else os.path.dirname(path) or "."
        index = read_index(directory, format)
        is_whole = index is not None and is_directory(path)
        found += [_beside(path, name) for name in index.rows] if index and is_whole else [path]
        if first is not None and index is not None and first.columns != index.columns:
            _check_same_columns(first, index, directory)
        first = first or index
    return found, first


def _check_same_columns(first: ShardIndex, index: ShardIndex, directory: str) -> None:
    # Ranges may differ, codes may not.
    kept = [
        [(column.facts, column.dtype, column.labels) for column in each.columns]
        for each in (first, index)
    ]
    if kept[0] != kept[1]:
        raise InputError(
            f'The files in "{directory}" have other columns or labels than those before them.',
            "Give files that were written together, or write them again from all data.",
            argument="paths",
            value=directory,
        )


def write_shards(
    packed: Packed,
    directory: str,
    shards: int,
    index: ShardIndex,
    write: Callable[[str, int, int], None],
    listener: Callable[[dict[str, int]], Any] | None = None,
) -> ShardIndex:
    """Write files one after another, and the index at the end.

    A file gets its name when it is complete. Files that are there already are kept where the same data was
    being written into as many files.

    Args:
        packed: The data, which tells the digest.
        directory: Where to write; it is made.
        shards: Number of files.
        index: The index without rows and digest.
        write: Writes rows into a file: its path, the first row, and the one after the last.
        listener: Told of each finished file by ``{"shard": 1, "shards": 4, "rows": 100}``.

    Returns:
        The index as it was written.

    Raises:
        ArgumentError: the directory holds finished files, or cannot be written.
    """
    directory = target(directory)
    if packed.rows < shards:
        raise ArgumentError(
            f"`shards` must be at most the number of rows, {packed.rows}, not {shards}.",
            "Give fewer shards.",
            argument="shards",
            value=str(shards),
        )
    sizes = split(packed.rows, shards)
    names = [_name(index.format, number, shards) for number in range(shards)]
    rows = dict(zip(names, sizes, strict=True))
    index = ShardIndex(index.format, index.columns, rows, _digest(packed, index))
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
        os.replace(os.path.join(directory, _UNFINISHED), os.path.join(directory, INDEX))
    except OSError as error:
        raise unwritable(directory, error) from error
    return index


def target(path: str) -> str:
    """Find where to write.

    Args:
        path: What the user gave.

    Returns:
        A directory of this machine, which need not exist.

    Raises:
        ArgumentError: it is on another machine, or holds other files than unfinished ones of this package.
    """
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
        raise unwritable(directory, error) from error
    if INDEX in held:
        raise ArgumentError(
            f'`path` "{directory}" holds finished files already.',
            "Choose another directory, or delete this one.",
            argument="path",
            value=directory,
        )
    if held - {SPOOL} and _UNFINISHED not in held:
        raise ArgumentError(
            f'`path` "{directory}" is not empty.',
            "Choose another directory.",
            argument="path",
            value=directory,
        )
    return directory


def unwritable(directory: str, error: OSError) -> ArgumentError:
    """Make the error for a directory that cannot be written."""
    return ArgumentError(
        f'`path` "{directory}" cannot be written: {error.strerror or error}.',
        "Free space there, or choose another directory.",
        argument="path",
        value=directory,
    )


def _begin(directory: str, index: ShardIndex) -> None:
    os.makedirs(directory, exist_ok=True)
    unfinished = os.path.join(directory, _UNFINISHED)
    text = index.as_json()
    with contextlib.suppress(OSError), open(unfinished, encoding="utf-8") as file:
        if file.read() == text:
            return
    # Another data set was being written; its shards are this package's own.
    for name in os.listdir(directory):
        if name.startswith("part-"):
            os.remove(os.path.join(directory, name))
    with open(unfinished + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(unfinished + ".new", unfinished)


def _digest(packed: Packed, index: ShardIndex) -> str:
    digest = hashlib.blake2b(index.as_json().encode(), digest_size=16)
    for matrix in packed.matrices:
        digest.update(matrix.data)
    return digest.hexdigest()


def _name(format: str, number: int, shards: int) -> str:  # noqa: A002
    suffix = {"fixed_length": "bin", "tfrecord": "tfrecord"}[format]
    return f"part-{number:05d}-of-{shards:05d}.{suffix}"


def _beside(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"


def indexed_columns(packed: Packed) -> tuple[IndexedColumn, ...]:
    """Say what the columns of packed data are, in the order in which its matrices keep them.

    Args:
        packed: The data.
    """
    places = sorted(packed.places.values(), key=lambda place: (place.matrix, place.start))
    columns: list[IndexedColumn] = []
    for place in places:
        name = place.facts.name
        numbers = packed.numbers(name)
        labels = tuple(str(label) for label in packed.tables[name]) if numbers is None else None
        known = None if numbers is None else (float(numbers.min()), float(numbers.max()))
        dtype = packed.matrices[place.matrix].dtype.name
        columns.append(IndexedColumn(place.facts, dtype, labels, known))
    return tuple(columns)
