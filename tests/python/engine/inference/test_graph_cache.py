"""The cache of graphs between verbs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


class FakeSession:
    """A session without a graph."""

    def __init__(self, variable_bytes: int = 0, reads_files: bool = False) -> None:
        self.variable_bytes = variable_bytes
        self.reads_files = reads_files
        self.restored: list[str] = []
        self.closed = False

    def restore(self, checkpoint: str) -> None:
        self.restored.append(checkpoint)

    def close(self) -> None:
        self.closed = True


def borrowed(cache: Any, key: Any, made: Any = None, files: Any = ("a", 1)) -> Any:
    with cache.borrow(key, files, lambda: made or FakeSession()) as lent:
        return lent


@pytest.fixture
def cache(tensorflow: Any) -> Any:
    from tfdistribute.engine.inference.graph_cache import GraphCache

    return GraphCache()


def test_an_equal_key_gets_the_same_session_and_any_other_a_new_one(cache: Any):
    first = borrowed(cache, {"units": [4]})
    assert borrowed(cache, {"units": [4]}) is first
    assert borrowed(cache, {"units": [5]}) is not first
    assert first.restored == []


def test_a_key_that_holds_an_array_gets_a_new_session(cache: Any):
    first = borrowed(cache, {"value": np.zeros(2)})
    assert borrowed(cache, {"value": np.zeros(2)}) is not first


def test_another_checkpoint_or_another_content_of_its_files_is_read(cache: Any):
    first = borrowed(cache, 1)
    assert borrowed(cache, 1, files=("b", 1)) is first
    assert borrowed(cache, 1, files=("b", 2)) is first
    assert borrowed(cache, 1, files=("b", 2)) is first
    assert first.restored == ["b", "b"]


@pytest.mark.parametrize("made", [{"reads_files": True}, {"variable_bytes": 2**30}])
def test_sessions_that_read_files_or_take_much_memory_are_not_cached(cache: Any, made: Any):
    first = borrowed(cache, 1, FakeSession(**made))
    assert first.closed
    assert borrowed(cache, 1) is not first


def test_a_session_is_cached_only_if_its_graph_is_known(cache: Any):
    first = borrowed(cache, None)
    assert first.closed
    assert borrowed(cache, None) is not first


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_session_that_fails_or_is_interrupted_is_not_cached(cache: Any, error: Any):
    with pytest.raises(error), cache.borrow(1, ("a", 1), FakeSession) as lent:
        raise error
    assert lent.closed
    assert borrowed(cache, 1) is not lent


def test_a_session_is_lent_to_one_verb_at_a_time(cache: Any):
    with cache.borrow(1, ("a", 1), FakeSession) as outer:
        assert borrowed(cache, 1) is not outer


def test_the_oldest_sessions_are_closed(cache: Any):
    made = [borrowed(cache, key) for key in range(6)]
    assert [each.closed for each in made] == [True, True, False, False, False, False]
    cache.clear()
    assert all(each.closed for each in made)
