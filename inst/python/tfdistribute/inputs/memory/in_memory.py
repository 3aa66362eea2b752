"""Columns in memory: data frames, matrices, lists and arrays of R.

The data stays in NumPy, outside TensorFlow's graph: a graph is limited to 2 GB, and is written to the model
directory and to every event file. The data crosses into TensorFlow in chunks of many batches.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute.inputs.memory.packed_input import PackedInput
from tfdistribute.inputs.packed.packing import Column, check_names, pack


@dataclass(frozen=True, eq=False)
class InMemory(PackedInput, kind="in_memory"):
    """Columns of equal length.

    The columns are copied when the description is read, on the thread that reads it, into the one copy that
    training uses. Their functions are not kept: arrays that belong to R may not be released on other threads.

    Args:
        columns: Features and response.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        """Copy the columns and release R's arrays."""
        check_names(self.columns, self.response)
        object.__setattr__(self, "packed", pack(self.columns))
        object.__setattr__(self, "columns", ())
