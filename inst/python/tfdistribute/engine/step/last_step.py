"""The end of the input, which must change no variable.

The last ``session.run`` finds no rows and fails. Operations that need no rows, such as the decay of Adam's averages,
could have run before.
"""

from collections.abc import Iterable
from typing import Any

from tfdistribute.engine.graph import edit, effects, walk
from tfdistribute.engine.step.resident_rows import RowReader

_READS = ("IteratorGetNext", "IteratorGetNextSync")


def wait_for_rows(train_op: Any, hooks: Iterable[Any]) -> None:
    """Let all changes of variables wait for the rows of the step, of iterators or a ``RowReader`` in ``hooks``."""
    needed = list(walk.ancestors([train_op]))
    names = {each.batch[0].op.name for each in hooks if isinstance(each, RowReader)}
    reads = [each for each in needed if each.type in _READS or each.name in names]
    if not reads:
        return
    others = {each.name for each in walk.ancestors(reads)}
    others |= {each.name for each in walk.descendants(reads)}
    for operation in needed:
        in_branch = operation._get_control_flow_context() is not None
        # A variable of TensorFlow 1 returns a reference, and is needed before the first rows.
        writes = effects.may_write(operation) and operation.type not in effects.VARIABLES
        if writes and operation.name not in others and not in_branch:
            edit.add_controls(operation, reads)
