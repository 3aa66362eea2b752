"""Index of sharded files, written last: files without an index are incomplete."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.files.files import exists, is_directory, open_file
from tfdistribute.inputs.packed.packing import PackedColumns

INDEX = "index.json"
UNFINISHED = "index.json.unfinished"


@dataclass(frozen=True)
class IndexedColumn:
    """A column in files.

    Args:
        facts: Name, type, shape and levels.
        dtype: NumPy dtype of its values in a fixed-length file.
        labels: The strings behind codes; None if the values are not codes.
        range: Minimum and maximum of a numeric column.
    """

    facts: ColumnFacts
    dtype: str
    labels: tuple[str, ...] | None = None
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class ShardIndex:
    """Content of an index.

    Args:
        format: "fixed_length" or "tfrecord".
        columns: The columns in order.
        rows: Rows per file name.
        digest: Hash of the data; identifies finished files after an interruption.
    """

    format: str
    columns: tuple[IndexedColumn, ...]
    rows: Mapping[str, int]
    digest: str = ""

    def as_json(self) -> str:
        """Serialise the index."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> ShardIndex:
        """Deserialise an index."""
        fields = json.loads(text)
        columns = [
            IndexedColumn(
                ColumnFacts.from_values(column["facts"]),
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
    """Read the index of a directory; None if there is none of this format."""
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
        index = ShardIndex.from_json(text.decode())
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f'The file "{path}" is not an index of this package.',
            "Write the files again.",
            argument="paths",
            value=path,
        ) from error
    return index if index.format == format else None


def expand_shards(paths: Sequence[str], format: str) -> tuple[list[str], ShardIndex | None]:  # noqa: A002
    """Replace directories by the shards in their index."""
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
    # Ranges may differ, codes must not.
    columns = [
        [(column.facts, column.dtype, column.labels) for column in each.columns]
        for each in (first, index)
    ]
    if columns[0] != columns[1]:
        raise InputError(
            f'The files in "{directory}" have other columns or labels than the files before them.',
            "Give files that were written together, or write them again from all data.",
            argument="paths",
            value=directory,
        )


def indexed_columns(packed: PackedColumns) -> tuple[IndexedColumn, ...]:
    """Describe packed columns, in matrix order."""
    tables = packed.layout.tables
    columns: list[IndexedColumn] = []
    for slot in sorted(packed.layout.slots.values(), key=lambda each: (each.matrix, each.start)):
        name = slot.facts.name
        labels = tuple(str(label) for label in tables[name]) if name in tables else None
        dtype = packed.layout.dtypes[slot.matrix].name
        columns.append(IndexedColumn(slot.facts, dtype, labels, packed.range(name)))
    return tuple(columns)


def _beside(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"
