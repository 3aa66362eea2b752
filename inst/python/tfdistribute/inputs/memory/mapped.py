"""Columns in memory, packed into files that several processes of one machine map: one copy for all of them.

A job's data goes this way: it is packed once, by the process that starts the job, and its tasks share the pages that
the system keeps of the files. A directory holds ``columns.json`` (what the columns are, and the strings that codes
stand for) and one ``matrix-<i>.npy`` per dtype; nothing in them is code.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.memory.packed_input import PackedInput
from tfdistribute.inputs.packed.layout import Layout, lay_out
from tfdistribute.inputs.packed.packing import Column, Packed, check_names, pack

COLUMNS = "columns.json"


@dataclass(frozen=True, eq=False)
class Mapped(PackedInput, kind="mapped"):
    """Columns that ``write_packed`` wrote.

    Args:
        directory: Where.
    """

    directory: str

    @cached_property
    def packed(self) -> Packed:
        """The columns, mapped when they are first needed."""
        return map_packed(self.directory)


def write_packed(columns: Sequence[Column], directory: str, response: str | None = None) -> int:
    """Pack columns into files, with no other copy in memory.

    Args:
        columns: At least one column, all with the same number of rows.
        directory: A directory to be made.
        response: Name of the column that is the label, if there is one.

    Returns:
        Bytes that were written.

    Raises:
        InputError: as ``pack``, or there is no space.
    """
    check_names(columns, response)
    os.mkdir(directory, 0o700)
    packed = pack(columns, lambda layout, rows: _empty_files(layout, rows, directory))
    for matrix in packed.matrices:
        if isinstance(matrix, np.memmap):
            matrix.flush()
    described = {
        "rows": packed.rows,
        "columns": [_described(column.facts) for column in columns],
        "tables": {name: [str(text) for text in table] for name, table in packed.tables.items()},
    }
    (Path(directory) / COLUMNS).write_text(json.dumps(described), encoding="utf-8")
    return sum(matrix.nbytes for matrix in packed.matrices)


def map_packed(directory: str) -> Packed:
    """Map what ``write_packed`` wrote, for reading.

    Args:
        directory: Where.

    Returns:
        The columns; their pages are shared with every process that maps them.

    Raises:
        InputError: the files are not there, or not what was written.
    """
    try:
        described = json.loads((Path(directory) / COLUMNS).read_text(encoding="utf-8"))
        tables = {
            name: np.array(texts, dtype=object) for name, texts in described["tables"].items()
        }
        layout = lay_out([_facts(column) for column in described["columns"]], tables)
        rows = int(described["rows"])
        # Plain arrays: a memmap's own slices cost a microsecond more each.
        matrices = tuple(
            np.asarray(np.load(_matrix(directory, index), mmap_mode="r"))
            for index in range(len(layout.dtypes))
        )
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(directory, str(error)) from error
    expected = [
        ((rows, width), dtype) for width, dtype in zip(layout.widths, layout.dtypes, strict=True)
    ]
    if [(matrix.shape, matrix.dtype) for matrix in matrices] != expected:
        raise _unreadable(directory, "its matrices are not those of its columns")
    return Packed(matrices, layout.places, tables, rows)


def _empty_files(layout: Layout, rows: int, directory: str) -> tuple[npt.NDArray[Any], ...]:
    return tuple(
        _empty_file(_matrix(directory, index), (rows, width), dtype)
        for index, (width, dtype) in enumerate(zip(layout.widths, layout.dtypes, strict=True))
    )


def _empty_file(path: str, shape: tuple[int, int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    reserve = getattr(os, "posix_fallocate", None)
    if reserve is None:
        return matrix
    # Taken now: a page that finds no space when it is written ends the process (SIGBUS).
    descriptor = os.open(path, os.O_RDWR)
    try:
        reserve(descriptor, 0, os.fstat(descriptor).st_size)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        raise InputError(
            f"The data takes {matrix.nbytes / 2**20:.0f} MB, for which there is no space in "
            f'"{os.path.dirname(path)}".',
            "Free space there, or set TMPDIR to a directory on another disk before R starts.",
        ) from error
    finally:
        os.close(descriptor)
    return matrix


def _matrix(directory: str, index: int) -> str:
    return os.path.join(directory, f"matrix-{index}.npy")


def _described(facts: ColumnFacts) -> dict[str, Any]:
    return {
        "name": facts.name,
        "type": facts.type,
        "shape": facts.shape,
        "levels": facts.levels,
    }


def _facts(described: dict[str, Any]) -> ColumnFacts:
    levels = described["levels"]
    return ColumnFacts(
        described["name"],
        described["type"],
        tuple(described["shape"]),
        None if levels is None else tuple(levels),
    )


def _unreadable(directory: str, reason: str) -> InputError:
    return InputError(
        f'The packed data in "{directory}" cannot be read: {reason}.',
        "Start the job again: its data lasts as long as the job.",
        argument="directory",
        value=directory,
    )
