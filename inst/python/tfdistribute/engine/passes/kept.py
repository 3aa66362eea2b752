"""Passes that are kept between two verbs, so that the second one does not build its graph again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tfdistribute.engine.passes.row_pass import RowPass

# The evaluations and predictions of two models in turn.
_MOST = 4
# Variables of a pass that is kept: larger models take seconds to restore, not to build.
_MOST_BYTES = 2**26


@dataclass(frozen=True)
class _Entry:
    key: Any
    checkpoint: Any
    row_pass: RowPass


class KeptPasses:
    """The passes of the last verbs, by all that their graphs were built from."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    @contextlib.contextmanager
    def borrow(
        self, key: Any, checkpoint: tuple[str, Any], make: Callable[[], RowPass]
    ) -> Iterator[RowPass]:
        """Lend a pass to a verb; a verb that fails or is interrupted does not leave it behind.

        Args:
            key: All that the graph is built from, compared by equality; None for a graph that is not kept.
            checkpoint: Prefix of the checkpoint, and what changes with its files. A pass with the same key and
                another checkpoint gets the weights of this one.
            make: Makes the pass if none is kept.
        """
        found = self._take(key)
        row_pass = make() if found is None else found.row_pass
        try:
            if found is not None and found.checkpoint != checkpoint:
                row_pass.restore(checkpoint[0])
            yield row_pass
        except BaseException:
            row_pass.close()
            raise
        self._put(_Entry(key, checkpoint, row_pass))

    def clear(self) -> None:
        """Forget all passes, and free their memory."""
        while self._entries:
            self._entries.pop().row_pass.close()

    def _take(self, key: Any) -> _Entry | None:
        found = None
        if key is not None:
            found = next((each for each in self._entries if _are_equal(each.key, key)), None)
        if found is not None:
            self._entries.remove(found)
        return found

    def _put(self, entry: _Entry) -> None:
        row_pass = entry.row_pass
        if entry.key is None or row_pass.reads_files or row_pass.variable_bytes > _MOST_BYTES:
            row_pass.close()
            return
        self._entries.append(entry)
        while len(self._entries) > _MOST:
            self._entries.pop(0).row_pass.close()


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ValueError:
        # NumPy compares arrays, such as an initial value, element by element.
        return False


PASSES = KeptPasses()
