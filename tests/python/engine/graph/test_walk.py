"""Walks along the edges of small graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.graph import walk

v1 = tf.compat.v1

pytestmark = [pytest.mark.usefixtures("tensorflow"), pytest.mark.versions]


def names(operations: Iterable[Any]) -> set[str]:
    return {each.name for each in operations}


@pytest.fixture
def diamond() -> Any:
    """a → left, right → sum; `late` waits for `right` by a control edge and reads `a`; `other` is apart."""
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, name="a")
        left, right = tf.negative(a, name="left"), tf.exp(a, name="right")
        tf.add(left, right, name="sum")
        with tf.control_dependencies([right]):
            tf.square(a, name="late")
        tf.constant(2.0, name="other")
    return graph


def test_ancestors_are_found_once_through_data_and_control_edges(diamond: Any) -> None:
    late, total = (diamond.get_operation_by_name(name) for name in ("late", "sum"))
    assert names(walk.ancestors([late])) == {"late", "right", "a"}
    assert names(walk.ancestors([late], control=False)) == {"late", "a"}
    found = [each.name for each in walk.ancestors([total, total])]
    assert sorted(found) == ["a", "left", "right", "sum"]


def test_descendants_follow_control_edges_unless_told_otherwise(diamond: Any) -> None:
    right = diamond.get_operation_by_name("right")
    assert names(walk.descendants([right])) == {"right", "sum", "late"}
    assert names(walk.descendants([right], control=False)) == {"right", "sum"}


def test_a_tensor_stands_for_its_operation(diamond: Any) -> None:
    assert names(walk.ancestors([diamond.get_tensor_by_name("left:0")])) == {"left", "a"}


def test_a_walk_ends_before_an_operation_that_until_holds_for(diamond: Any) -> None:
    total = diamond.get_operation_by_name("sum")
    assert names(walk.ancestors([total], until=lambda each: each.name == "right")) == {
        *("sum", "left", "a")
    }
    assert names(walk.ancestors([total], until=lambda each: each is total)) == set()


def test_a_walk_is_depth_first_and_visits_the_last_source_first(diamond: Any) -> None:
    total = diamond.get_operation_by_name("sum")
    assert [each.name for each in walk.ancestors([total])] == ["sum", "right", "a", "left"]


def test_a_loop_of_tensorflow_1_is_a_cycle_in_which_a_walk_ends() -> None:
    with tf.Graph().as_default():
        v1.disable_control_flow_v2()
        try:
            begin = tf.constant(0, name="begin")
            end = v1.while_loop(lambda i: i < 3, lambda i: i + 1, [begin])
        finally:
            v1.enable_control_flow_v2()
    kinds = {each.type for each in walk.ancestors([end])}
    assert {"Enter", "Merge", "NextIteration", "Exit"} <= kinds
    assert begin.op in set(walk.ancestors([end]))


def test_users_of_all_outputs_are_found() -> None:
    with tf.Graph().as_default():
        one, other = tf.split(tf.zeros([4]), 2)
        readers = [tf.negative(one).op, tf.exp(other).op]
        with tf.control_dependencies([one.op]):
            waiting = tf.no_op()
    assert walk.users(one.op) == readers
    assert walk.users(one.op, control=True) == [*readers, waiting]


def test_a_chain_passes_operations_of_the_given_types_only() -> None:
    with tf.Graph().as_default():
        begin = tf.exp(tf.constant([1, 2], tf.float32))
        cast = tf.cast(begin, tf.float64)
        end = tf.identity(cast)
    chain = [each.name for each in walk.chain(end, {"Identity", "Cast"})]
    assert chain == [end.name, cast.name, begin.name]
    assert walk.behind(end, {"Identity"}).name == cast.name
    assert walk.behind(begin, {"Identity"}).name == begin.name


def test_readers_are_found_with_every_input_that_reads_the_tensor() -> None:
    with tf.Graph().as_default():
        a, b = tf.constant([1.0, 2.0], name="a"), tf.constant([3.0, 4.0], name="b")
        tf.multiply(a, a, name="square")
        tf.subtract(b, a, name="difference")
        found = [(each.name, at) for each, at in walk.readers(a)]
    assert sorted(found) == [("difference", 1), ("square", 0), ("square", 1)]


def test_inputs_from_outside_are_tensors_of_other_operations() -> None:
    with tf.Graph().as_default():
        left, right = tf.split(tf.zeros([4], name="zeros"), 2, name="halves")
        total = left + right
        twice = total * right
    found = walk.outside_inputs([total.op, twice.op])
    assert sorted(found) == ["halves:0", "halves:1"]


def test_operations_are_sorted_by_when_they_were_made(diamond: Any) -> None:
    total = diamond.get_operation_by_name("sum")
    found = [each.name for each in walk.in_order(walk.ancestors([total]))]
    assert found == ["a", "left", "right", "sum"]
