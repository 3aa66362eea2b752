"""Columns packed into memory-mapped files, shared by several processes of one machine.

The process that starts a job packs the data once, and all tasks share the pages that the system caches. A directory
holds ``columns.json`` (the columns and the strings behind codes) and one ``matrix-<i>.npy`` per dtype. No file
contains code.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import InputError
from tfdistribute.files import read_json
from tfdistribute.inputs.memory.packed_input import PackedInput
from tfdistribute.inputs.packed.layout import Layout, Matrices
from tfdistribute.inputs.packed.packing import Column, PackedColumns, check_names, pack
from tfdistribute.task_events import JOB

COLUMNS = "columns.json"


@dataclass(frozen=True, eq=False)
class Mapped(PackedInput, kind="mapped"):
    """Columns written by ``write_packed``."""

    directory: str  # In the tasks of a job, relative to its private directory.

    @cached_property
    def packed(self) -> PackedColumns:
        return map_packed(os.path.join(os.environ.get(JOB, ""), self.directory))


def write_packed(columns: Sequence[Column], directory: str, response: str | None = None) -> int:
    """Pack columns into files without a second copy in memory; return the bytes. InputError if the disk is full."""
    check_names(columns, response)
    os.mkdir(directory, 0o700)
    packed = pack(columns, lambda layout, rows: _empty_files(layout, rows, directory))
    for matrix in packed.matrices:
        if isinstance(matrix, np.memmap):
            matrix.flush()
    tables = {name: [str(text) for text in table] for name, table in packed.layout.tables.items()}
    description = {
        "rows": packed.rows,
        "columns": [asdict(column.facts) for column in columns],
        "tables": tables,
    }
    (Path(directory) / COLUMNS).write_text(json.dumps(description), encoding="utf-8")
    return sum(matrix.nbytes for matrix in packed.matrices)


def map_packed(directory: str) -> PackedColumns:
    try:
        description: Any = read_json(os.path.join(directory, COLUMNS))
        tables = {
            name: np.array(texts, dtype=object) for name, texts in description["tables"].items()
        }
        columns = [ColumnFacts.from_values(column) for column in description["columns"]]
        layout = Layout.of(columns, tables)
        rows = int(description["rows"])
        # Use plain arrays: slicing a memmap costs a microsecond more.
        matrices = tuple(
            np.asarray(np.load(_matrix(directory, index), mmap_mode="r"))
            for index in range(len(layout.dtypes))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(directory, str(error)) from error
    expected = [
        ((rows, width), dtype) for width, dtype in zip(layout.widths, layout.dtypes, strict=True)
    ]
    if [(matrix.shape, matrix.dtype) for matrix in matrices] != expected:
        raise _unreadable(directory, "its matrices do not match its columns")
    return PackedColumns(matrices, layout)


def _empty_files(layout: Layout, rows: int, directory: str) -> Matrices:
    return tuple(
        _empty_file(_matrix(directory, index), (rows, width), dtype)
        for index, (width, dtype) in enumerate(zip(layout.widths, layout.dtypes, strict=True))
    )


def _empty_file(path: str, shape: tuple[int, int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    reserve = getattr(os, "posix_fallocate", None)
    if reserve is None:
        return matrix
    # Reserve the space now: writing to a mapped page on a full disk kills the process (SIGBUS).
    descriptor = os.open(path, os.O_RDWR)
    try:
        reserve(descriptor, 0, os.fstat(descriptor).st_size)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        raise InputError(
            f'"{os.path.dirname(path)}" has no space for the data, which takes {matrix.nbytes / 2**20:.0f} MB.',
            "Free space there, or set TMPDIR to a directory on another disk before R starts.",
        ) from error
    finally:
        os.close(descriptor)
    return matrix


def _matrix(directory: str, index: int) -> str:
    return os.path.join(directory, f"matrix-{index}.npy")


def _unreadable(directory: str, reason: str) -> InputError:
    return InputError(
        f'The packed data in "{directory}" cannot be read: {reason}.',
        "Start the job again: its data lasts as long as the job.",
        argument="directory",
        value=directory,
    )
