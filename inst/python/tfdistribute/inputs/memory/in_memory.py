"""Columns in memory: R data frames, matrices, lists and arrays.

The data stays in NumPy, outside TensorFlow's graph: a graph is limited to 2 GB, and is written to the model
directory and to every event file. The data enters TensorFlow in chunks of many batches.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute.inputs.memory.packed_input import PackedInput
from tfdistribute.inputs.packed.packing import Column, check_names, pack


@dataclass(frozen=True, eq=False)
class InMemory(PackedInput, kind="in_memory"):
    """Columns of equal length.

    The columns are copied once, on the thread that reads the description; training uses that copy. The column
    functions are dropped: arrays that belong to R must not be released on other threads.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        check_names(self.columns, self.response)
        object.__setattr__(self, "packed", pack(self.columns))
        object.__setattr__(self, "columns", ())
