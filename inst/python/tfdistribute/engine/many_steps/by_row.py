"""Tensors of a step that have one result for each row, computed from that row alone.

What such a tensor holds for a batch can be looked up, if it was computed for all rows once. If it is the same for all
rows, such as whether a value is missing, it is a constant of every batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfdistribute.engine.many_steps.vocabularies import Vocabulary

Known = np.ndarray[Any, Any]

# Rows that are computed together.
_CHUNK = 2**16
# Rows of which facts are established, and numbers that are computed from rows and kept: hashing as many takes a second.
MOST_ROWS, MOST_KEPT = 2**24, 2**21
# Numbers that are kept of all tensors together, 8 bytes each.
MOST_KEPT_TOGETHER = 2**23


@dataclass(frozen=True, eq=False)
class ByRow:
    """A tensor of shape [rows, *shape].

    Args:
        shape: Shape of the result of one row.
        replica: The replica whose rows it reads.
        elements: The same for tensors with the same elements in the same order.
        values: Returns its values for a range of rows.
        operations: Number of operations that this takes.
        table: What the values are taken from, by ``codes``, if they are; an operation on it computes all of them.
        codes: Positions in the table.
    """

    shape: tuple[int, ...]
    replica: int
    elements: object
    values: Callable[[slice], Any]
    operations: int = 0
    table: Known | None = None
    codes: ByRow | None = None

    @classmethod
    def of_array(cls, name: str, values: Known, replica: int = 0) -> ByRow:
        """Return a tensor that a step is given by name, with its values for all rows."""
        return cls(values.shape[1:], replica, name, values.__getitem__)

    @classmethod
    def of_table(cls, table: Known, codes: ByRow) -> ByRow:
        """Return a tensor of the values of a table at the positions that another one holds."""
        shape = (*codes.shape, *table.shape[1:])

        def values(rows: slice) -> Any:
            places = codes.values(rows)
            # NumPy counts negative ones from the end.
            if np.any((places < 0) | (places >= len(table))):
                raise ValueError("a code is not a position in its table")
            return np.take(table, places, axis=0)

        return cls(shape, codes.replica, object(), values, 0, table, codes)

    @property
    def width(self) -> int:
        """Elements of one row."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Rows:
    """All rows from which the batches of a step are gathered.

    Args:
        matrices: What a step is given, by name of the tensor: the matrices of each replica in turn.
        replicas: Number of replicas.
        tables: The strings behind codes, by name of the tensor.
        vocabularies: What the step looks up, by name of the table's tensor.
    """

    matrices: Mapping[str, Known]
    replicas: int = 1
    tables: Mapping[str, Known] = field(default_factory=dict[str, Known])
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict[str, Vocabulary])

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(next(iter(self.matrices.values())))

    def given(self, name: str) -> ByRow | None:
        """Return a tensor that a step is given; None if there is none, or there are too many rows."""
        if name not in self.matrices or self.count > MOST_ROWS:
            return None
        replica = list(self.matrices).index(name) * self.replicas // len(self.matrices)
        return ByRow.of_array(name, self.matrices[name], replica)

    def constant(self, tensor: ByRow) -> bool | None:
        """Return the value of a logical tensor if it is the same for all rows; else None."""
        found: set[bool] = set()
        for values in [tensor.table] if tensor.table is not None else self._chunks(tensor):
            found |= {bool(values.min()), bool(values.max())}
            if len(found) > 1:
                return None
        return found.pop()

    def computed(self, tensor: ByRow) -> Known:
        """Return the values of a tensor for all rows."""
        return np.concatenate(list(self._chunks(tensor)))

    def _chunks(self, tensor: ByRow) -> Iterator[Known]:
        for begin in range(0, self.count, _CHUNK):
            yield tensor.values(slice(begin, min(begin + _CHUNK, self.count)))
