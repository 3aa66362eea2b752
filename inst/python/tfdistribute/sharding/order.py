"""Row order within an epoch: a new shuffle per epoch, from one seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# NumPy's seeds cannot be negative; TensorFlow's can.
_SEED_BITS = 2**63 - 1


class RowOrder:
    """The row at each position of the stream of all epochs; with a seed, the same order in every process."""

    def __init__(self, rows: int, seed: int | None) -> None:
        self._rows = rows
        self._seed = seed
        self._epoch = -1
        self._order: npt.NDArray[np.int32 | np.int64] = np.empty(0, np.int32)

    def at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.integer[Any]]:
        """Look up row numbers, from 0, by positions in the stream, in ascending order."""
        if self._seed is None:
            within = positions.size > 0 and int(positions.max()) < self._rows
            return positions if within else positions % self._rows
        epochs, offsets = np.divmod(positions, self._rows)
        first, last = int(epochs.flat[0]), int(epochs.flat[-1])
        if first == last:
            return self._epoch_order(first)[offsets]
        # A table may have fewer rows than a batch, so that there are thousands of epochs.
        ends = np.searchsorted(epochs.reshape(-1), np.arange(first, last + 1), side="right")
        parts = np.split(offsets.reshape(-1), ends[:-1])
        found = [
            self._epoch_order(epoch)[part] for epoch, part in enumerate(parts, first) if len(part)
        ]
        return np.concatenate(found).reshape(positions.shape)

    def _epoch_order(self, epoch: int) -> npt.NDArray[np.int32 | np.int64]:
        if epoch != self._epoch:
            self._order = epoch_order(self._rows, self._seed or 0, epoch)
            self._epoch = epoch
        return self._order


def epoch_order(rows: int, seed: int, epoch: int) -> npt.NDArray[np.int32 | np.int64]:
    order = np.arange(rows, dtype=np.int32 if rows <= np.iinfo(np.int32).max else np.int64)
    random_generator(seed, epoch).shuffle(order)
    return order


def random_generator(seed: int, *position: int) -> np.random.Generator:
    """Make the random generator of one epoch, and of one pipeline if each has its own order."""
    return np.random.default_rng((seed & _SEED_BITS, *position))
