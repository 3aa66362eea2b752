"""Position of a training in the rows of all epochs, kept in model_dir for the training that continues it."""

import dataclasses
import os
from dataclasses import dataclass
from typing import Any

from tfdistribute import storage
from tfdistribute.columns import InputFacts

FILE = "tfdistribute-position.json"


@dataclass(frozen=True)
class Position:
    """Where the last training began: its global step, and the rows that were read before it.

    An epoch has ``rows`` and a step ``batch_size`` rows. The training ends after ``most_rows``, if it is not None.
    """

    step: int
    row: int
    batch_size: int
    rows: int
    most_rows: int | None

    def row_at(self, step: int) -> int:
        read = (step - self.step) * self.batch_size
        return self.row + (read if self.most_rows is None else min(read, self.most_rows))


def first_row(model_dir: str, facts: InputFacts, step: int, writes: bool) -> int:
    """Return the row at which a training from a global step begins; ``writes`` keeps it for the next training.

    The position counts rows, so the batch size may change. Data with another number of rows begins with its next
    epoch. The chief of a cluster writes, and the other tasks get the same row before and after that.
    """
    size, rows, epochs = facts.global_batch_size, facts.rows, facts.epochs
    if size is None or rows is None:
        return 0
    known = _read(model_dir)
    # Of a training by another program, only the step is known.
    last = known or Position(0, 0, size, rows, None)
    row = last.row_at(step) if step >= last.step else step * size
    if rows != last.rows:
        row = -(-row // last.rows) * rows
    new = Position(step, row, size, rows, None if epochs is None else rows * epochs)
    if writes and new != known:
        storage.write_object(os.path.join(model_dir, FILE), dataclasses.asdict(new))
    return row


def _read(model_dir: str) -> Position | None:
    fields: Any = storage.read_object(os.path.join(model_dir, FILE))
    try:
        position = None if fields is None else Position(**fields)
    except TypeError:
        return None
    return position if position is not None and position.rows > 0 else None
