"""Rows in memory that are fed to a session, one batch at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tfdistribute.engine.step import resident_rows
from tfdistribute.engine.step.resident_rows import ResidentRows, RowNumbers, SessionArray

v1 = tf.compat.v1


class FedRows:
    """Placeholders for the matrices of a batch of any size; consecutive rows are not copied."""

    def __init__(self, rows: ResidentRows) -> None:
        with tf.device("/cpu:0"), tf.name_scope("fed_rows"):
            self.placeholders: list[Any] = [
                v1.placeholder(tf.dtypes.as_dtype(each.dtype), [None, each.shape[1]])
                for each in rows.matrices
            ]
            self._tables = [SessionArray(tf.string, [None]) for _ in rows.tables]
            tables = tuple(each.value() for each in self._tables)
            self.element: Any = rows.unpack(tuple(self.placeholders), tables)

    def provide(self, session: Any, rows: ResidentRows) -> None:
        resident_rows.provide(session, self._tables, rows.tables)

    def release(self, session: Any) -> None:
        nothing = [np.empty(0, dtype=object) for _ in self._tables]
        resident_rows.provide(session, self._tables, nothing)


def batches_of(rows: ResidentRows, most_rows: int) -> Iterator[list[npt.NDArray[Any]]]:
    """Return the matrices of each batch."""
    if len(rows.matrices[0]) == 0:
        # Outputs have types and widths also without rows.
        yield list(rows.matrices)
    for chunk in rows.row_numbers():
        size = most_rows if rows.any_batch_size else chunk.shape[1]
        numbers = chunk.reshape(-1)
        for first in range(0, len(numbers), size):
            batch = numbers[first : first + size]
            yield [_rows_of(matrix, batch) for matrix in rows.matrices]


def _rows_of(matrix: npt.NDArray[Any], numbers: RowNumbers) -> npt.NDArray[Any]:
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first == len(numbers) - 1 and bool((numbers[1:] > numbers[:-1]).all()):
        return matrix[first : last + 1]
    return np.take(matrix, numbers, axis=0)
