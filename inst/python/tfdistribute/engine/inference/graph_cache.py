"""A cache of graphs and their sessions, so that a second evaluation or prediction does not build its graph again."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tfdistribute.engine.inference.session import InferenceSession

# The evaluations and predictions of two models in turn.
_MOST = 4
# Bytes of variables at most: larger models take seconds to restore, not to build.
_MOST_BYTES = 2**26


@dataclass(frozen=True)
class _Entry:
    key: Any
    checkpoint: Any
    session: InferenceSession


class GraphCache:
    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    @contextlib.contextmanager
    def borrow(
        self, key: Any, checkpoint: tuple[str, Any], make: Callable[[], InferenceSession]
    ) -> Iterator[InferenceSession]:
        """Lend a session to a verb; the session of a verb that fails or is interrupted is closed.

        ``key`` holds everything that the graph is built from, None for a graph that is not cached. A session of
        another checkpoint (its prefix, and the signature of its files) gets the weights of this one.
        """
        cached = self._take(key)
        session = make() if cached is None else cached.session
        try:
            if cached is not None and cached.checkpoint != checkpoint:
                session.restore(checkpoint[0])
            yield session
        except BaseException:
            session.close()
            raise
        self._put(_Entry(key, checkpoint, session))

    def clear(self) -> None:
        while self._entries:
            self._entries.pop().session.close()

    def _take(self, key: Any) -> _Entry | None:
        for entry in self._entries if key is not None else ():
            if _are_equal(entry.key, key):
                self._entries.remove(entry)
                return entry
        return None

    def _put(self, entry: _Entry) -> None:
        session = entry.session
        if entry.key is None or session.reads_files or session.variable_bytes > _MOST_BYTES:
            session.close()
            return
        self._entries.append(entry)
        while len(self._entries) > _MOST:
            self._entries.pop(0).session.close()


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ValueError:
        # NumPy compares arrays, such as an initial value, element by element.
        return False


GRAPHS = GraphCache()
