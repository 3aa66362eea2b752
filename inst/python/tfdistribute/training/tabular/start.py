"""The checkpoint of a chosen model, with which its training begins and ends."""

import time
from typing import Any

from tfdistribute import engine
from tfdistribute.checkpoints import mirror
from tfdistribute.training.history import History
from tfdistribute.training.specs import Start


def write_start(prepared: Any, start: Start, history: History) -> None:
    """Write the checkpoint of a chosen model to its directory, and its losses to the history."""
    model_dir = prepared.model.model_dir
    engine.trees.write_variables(mirror.local_directory(model_dir), start.variables, start.step)
    mirror.upload_checkpoint(model_dir)
    last = start.noted[-1][2] if start.noted else 0.0
    for step, loss, seconds in start.noted:
        history.note_step(step, loss, in_record=True, at=time.monotonic() - last + seconds)
