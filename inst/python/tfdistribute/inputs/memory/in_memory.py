"""Columns in memory: data frames, matrices, lists and arrays of R.

The data stays in NumPy, outside TensorFlow's graph: a graph is limited to 2 GB, and is written to the model
directory and to every event file. It crosses into TensorFlow in chunks of many batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from tfdistribute.columns import InputFacts
from tfdistribute.inputs.description import Input, InputFunction, Purpose
from tfdistribute.inputs.memory.packed_rows import PackedRows
from tfdistribute.inputs.packed.packing import Column, Packed, check_names, pack


@dataclass(frozen=True, eq=False)
class InMemory(Input, kind="in_memory"):
    """Columns of equal length.

    The columns are copied when the description is read, on the thread that reads it, into the one copy that
    training uses. Their functions are not kept: arrays that belong to R may not be released on other threads.

    Args:
        columns: Features and response.
        response: Name of the column that is the label; None: there is none.
        batch_size: Examples of one training step, summed over replicas.
        num_epochs: Passes over the rows; None: without end. Predicting always takes one.
        shuffle: Whether each epoch is shuffled; None: for training only. Predicting never shuffles.
        seed: Seed of the shuffle; None: the run's.
    """

    columns: tuple[Column, ...]
    response: str | None = None
    batch_size: int = 128
    num_epochs: int | None = 1
    shuffle: bool | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        """Copy the columns and let go of R's arrays."""
        check_names(self.columns, self.response)
        rows = PackedRows(
            pack(self.columns),
            self.response,
            self.batch_size,
            self.num_epochs,
            self.shuffle,
            self.seed,
        )
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "columns", ())

    @property
    def packed(self) -> Packed:
        """The one copy of the columns."""
        return self._packed_rows.packed

    @property
    def _packed_rows(self) -> PackedRows:
        return cast(PackedRows, self.__dict__["_rows"])

    def facts(self) -> InputFacts:
        """Say what is known about the data."""
        return self._packed_rows.facts

    def input_fn(self, purpose: Purpose, seed: int | None = None) -> InputFunction:
        """Make the function that an Estimator calls for its data; see ``PackedRows``."""
        return self._packed_rows.input_fn(purpose, seed)

    def packed_input_fn(self, purpose: Purpose, seed: int | None = None) -> InputFunction:
        """Make the function that an Estimator calls for its data, with numbers side by side."""
        return self._packed_rows.input_fn(purpose, seed, side_by_side=True)
