"""Passes that are kept between verbs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


class FakePass:
    """A pass without a graph."""

    def __init__(self, variable_bytes: int = 0, reads_files: bool = False) -> None:
        self.variable_bytes = variable_bytes
        self.reads_files = reads_files
        self.restored: list[str] = []
        self.closed = False

    def restore(self, checkpoint: str) -> None:
        self.restored.append(checkpoint)

    def close(self) -> None:
        self.closed = True


def borrowed(passes: Any, key: Any, made: Any = None, files: Any = ("a", 1)) -> Any:
    with passes.borrow(key, files, lambda: made or FakePass()) as lent:
        return lent


@pytest.fixture
def passes(tensorflow: Any) -> Any:
    from tfdistribute.engine.passes.kept import KeptPasses

    return KeptPasses()


def test_an_equal_key_gets_the_same_pass_and_any_other_a_new_one(passes: Any):
    first = borrowed(passes, {"units": [4]})
    assert borrowed(passes, {"units": [4]}) is first
    assert borrowed(passes, {"units": [5]}) is not first
    assert first.restored == []


def test_a_key_that_holds_an_array_gets_a_new_pass(passes: Any):
    first = borrowed(passes, {"value": np.zeros(2)})
    assert borrowed(passes, {"value": np.zeros(2)}) is not first


def test_another_checkpoint_or_another_content_of_its_files_is_read(passes: Any):
    first = borrowed(passes, 1)
    assert borrowed(passes, 1, files=("b", 1)) is first
    assert borrowed(passes, 1, files=("b", 2)) is first
    assert borrowed(passes, 1, files=("b", 2)) is first
    assert first.restored == ["b", "b"]


@pytest.mark.parametrize("made", [{"reads_files": True}, {"variable_bytes": 2**30}])
def test_passes_that_read_files_or_take_much_memory_are_not_kept(passes: Any, made: Any):
    first = borrowed(passes, 1, FakePass(**made))
    assert first.closed
    assert borrowed(passes, 1) is not first


def test_a_pass_is_kept_only_if_its_graph_is_known(passes: Any):
    first = borrowed(passes, None)
    assert first.closed
    assert borrowed(passes, None) is not first


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_pass_that_fails_or_is_interrupted_is_not_kept(passes: Any, error: Any):
    with pytest.raises(error), passes.borrow(1, ("a", 1), FakePass) as lent:
        raise error
    assert lent.closed
    assert borrowed(passes, 1) is not lent


def test_a_pass_is_lent_to_one_verb_at_a_time(passes: Any):
    with passes.borrow(1, ("a", 1), FakePass) as outer:
        assert borrowed(passes, 1) is not outer


def test_the_oldest_passes_are_closed(passes: Any):
    made = [borrowed(passes, key) for key in range(6)]
    assert [each.closed for each in made] == [True, True, False, False, False, False]
    passes.clear()
    assert all(each.closed for each in made)
