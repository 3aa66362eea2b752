"""Sharded files, and their index, which is written last: files without an index are incomplete."""

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tfdistribute.columns import MOST_VALUES, TYPES, ColumnFacts
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.files import is_remote, parse_json
from tfdistribute.inputs.files.blocks import Source
from tfdistribute.inputs.files.files import exists, is_directory, normalize, open_file
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.sharding import split

FORMATS = ("arrow", "tfrecord")
INDEX = "index.json"
UNFINISHED = "index.json.unfinished"

# Directory that caches rows until their number is known.
CACHE = "rows.unfinished"

_SEPARATORS = frozenset("/\\\0")


@dataclass(frozen=True)
class IndexedColumn:
    facts: ColumnFacts
    range: tuple[float, float] | None = None  # Of a numeric column.


@dataclass(frozen=True)
class ShardIndex:
    format: str
    columns: tuple[IndexedColumn, ...]
    rows: Mapping[str, int]  # Per file name.
    digest: str = ""  # Hash of the data; identifies finished files after an interruption.

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: bytes) -> "ShardIndex":
        fields: Any = parse_json(text)
        try:
            format, rows, digest = fields["format"], fields["rows"], fields["digest"]  # noqa: A001
            _require(format in FORMATS, f"it has the format {format!r:.50}")
            columns = tuple(_column(each) for each in fields["columns"])
        except (KeyError, TypeError) as error:
            raise ValueError("a field is missing or has another type") from error
        _require(_are_strings([digest]) and isinstance(rows, dict), "it names no files")
        _require(
            len(columns) == len({column.facts.name for column in columns}) > 0,
            "it names a column twice, or none",
        )
        for name, count in rows.items():
            _require(
                name not in ("", ".", "..") and not _SEPARATORS & set(name),
                f"it names the file {name!r:.50}, which is not in its directory",
            )
            _require(_is_count(count), f"it gives the file {name!r:.50} no number of rows")
        return cls(format, columns, rows, digest)


def _column(values: Any) -> IndexedColumn:
    facts, limits = ColumnFacts.from_values(values["facts"]), values["range"]
    _require(
        _are_strings([facts.name]) and facts.type in TYPES, "a column has no name, or no known type"
    )
    fits = all(_is_count(size) for size in facts.shape) and facts.width <= MOST_VALUES
    _require(fits, f"the column {facts.name!r:.50} has a shape that no row can have")
    _require(
        facts.levels is None or _are_strings(facts.levels),
        f"the column {facts.name!r:.50} has levels that are not strings",
    )
    _require(
        limits is None
        or (len(limits) == 2 and all(isinstance(limit, (int, float)) for limit in limits)),
        f"the column {facts.name!r:.50} has a range that is not two numbers",
    )
    return IndexedColumn(facts, None if limits is None else tuple(limits))


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _are_strings(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def read_index(directory: str, format: str, must_fit: bool) -> ShardIndex | None:  # noqa: A002
    """Read the index of a directory; None if there is none of this format.

    Raises InputError if the shards are not finished, or the index ``must_fit`` and this package did not write it.
    """
    path = _beside(directory, INDEX)
    if not exists(path):
        if exists(_beside(directory, UNFINISHED)):
            raise InputError(
                f'The files in "{directory}" are not finished.',
                "Write them again: finished files are kept.",
                argument="paths",
                value=directory,
            )
        return None
    with open_file(path) as stream:
        text = stream.read()
    try:
        index = ShardIndex.from_json(text)
    except ValueError as error:
        if not must_fit:
            return None
        raise InputError(
            f'The file "{path}" is not an index of this package: {error}.',
            "Write the files again.",
            argument="paths",
            value=path,
        ) from error
    return index if index.format == format else None


@dataclass(frozen=True)
class Shards:
    paths: Sequence[str]
    index: ShardIndex | None  # The first one.
    rows: Mapping[str, int]  # Of each shard, by path.

    @property
    def facts(self) -> dict[str, ColumnFacts]:
        return {each.facts.name: each.facts for each in self.index.columns} if self.index else {}

    def check_rows(self, source: Source) -> None:
        counts = Counter[str]()
        for block in source.blocks:
            counts[source.files[block.file].path] += block.rows
        for path, rows in self.rows.items():
            if counts[path] != rows:
                raise InputError(
                    f'The file "{path}" has {counts[path]} rows, but its index says {rows}.',
                    "Write the files again.",
                    argument="paths",
                    value=path,
                )


def expand_shards(paths: Sequence[str], format: str) -> Shards:  # noqa: A002
    found: list[str] = []
    rows: dict[str, int] = {}
    first: ShardIndex | None = None
    for path in map(normalize, paths):
        is_whole = is_directory(path)
        directory = path if is_whole else os.path.dirname(path) or "."
        index = read_index(directory, format, must_fit=is_whole)
        is_whole = is_whole and index is not None
        shards = {_beside(path, name): count for name, count in index.rows.items()} if index else {}
        found += shards if is_whole else [path]
        rows.update(shards if is_whole else {})
        if first is not None and index is not None and first.columns != index.columns:
            _check_same_columns(first, index, directory)
        first = first or index
    return Shards(found, first, rows)


def _check_same_columns(first: ShardIndex, index: ShardIndex, directory: str) -> None:
    # Ranges may differ, levels must not.
    columns = [[column.facts for column in each.columns] for each in (first, index)]
    if columns[0] != columns[1]:
        raise InputError(
            f'The files in "{directory}" have other columns or levels than the files before them.',
            "Give files that were written together, or write them again from all data.",
            argument="paths",
            value=directory,
        )


def indexed_columns(packed: PackedColumns) -> tuple[IndexedColumn, ...]:
    return tuple(
        IndexedColumn(facts, packed.range(name)) for name, facts in packed.layout.facts.items()
    )


def _beside(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"


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
    if is_remote(path):
        raise ArgumentError(
            f'`path` must be a directory of this machine, not "{path}".',
            "Write the files here and copy the directory.",
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
            value=directory,
        )
    if held - {CACHE} and UNFINISHED not in held:
        raise ArgumentError(
            f'`path` "{directory}" is not empty.',
            "Choose another directory.",
            value=directory,
        )
    return directory


def write_error(directory: str, error: OSError) -> ArgumentError:
    return ArgumentError(
        f'`path` "{directory}" cannot be written: {error.strerror or error}.',
        "Free space there, or choose another directory.",
        value=directory,
    )


def _begin(directory: str, index: ShardIndex) -> None:
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
