"""Rows in memory that are fed to a session, one batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tfdistribute.engine.step.resident_rows import ResidentRows, RowNumbers, SessionArray

v1 = tf.compat.v1


class FedRows:
    """Placeholders for the matrices of a batch of any size, in the current graph.

    Batches of rows that follow each other are not copied: TensorFlow reads them where they are.
    """

    def __init__(self, rows: ResidentRows) -> None:
        with tf.device("/cpu:0"), tf.name_scope("fed_rows"):
            self._matrices = [
                v1.placeholder(tf.dtypes.as_dtype(each.dtype), [None, each.shape[1]])
                for each in rows.matrices
            ]
            self._tables = [SessionArray(tf.string, [None]) for _ in rows.tables]
            tables = tuple(each.value() for each in self._tables)
            self.element: Any = rows.unpack(tuple(self._matrices), tables)

    @property
    def placeholders(self) -> list[Any]:
        """The tensors that ``batches`` are fed to."""
        return list(self._matrices)

    def provide(self, session: Any, rows: ResidentRows) -> None:
        """Give the strings behind codes to a session."""
        for each, table in zip(self._tables, rows.tables, strict=True):
            each.provide(session, table)

    def release(self, session: Any) -> None:
        """Take the strings from a session, which keeps no data."""
        for each in self._tables:
            each.provide(session, np.empty(0, dtype=object))

    def batches(self, rows: ResidentRows, most_rows: int) -> Iterator[list[npt.NDArray[Any]]]:
        """Iterate over the batches, the rows of each matrix: ``most_rows`` if the size of batches is free."""
        for chunk in rows.row_numbers(rows.skipped):
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
