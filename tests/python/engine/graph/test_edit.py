"""Changed edges of small graphs, which sessions run."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.graph import edit

v1 = tf.compat.v1

pytestmark = [pytest.mark.usefixtures("tensorflow"), pytest.mark.versions]


def run(values: Any) -> Any:
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        return session.run(values)


def test_all_users_of_a_tensor_are_redirected_at_all_inputs() -> None:
    with tf.Graph().as_default():
        old, new = tf.split(tf.constant([2.0, 5.0]), 2)
        users = [old * old, old - new, tf.negative(new)]
        edit.redirect(old, new)
        assert [float(value[0]) for value in run(users)] == [25.0, 0.0, -5.0]
        assert old.consumers() == []


def test_one_input_of_one_operation_is_changed() -> None:
    with tf.Graph().as_default():
        one, other = tf.constant(2.0), tf.constant(5.0)
        changed, kept = one - one, one + one
        edit.set_input(changed.op, 1, other)
        assert run([changed, kept]) == [-3.0, 4.0]


def test_a_read_of_a_variable_is_redirected_like_any_tensor() -> None:
    with tf.Graph().as_default():
        variable = tf.Variable(3.0, use_resource=True)
        read = variable.read_value()
        double = 2.0 * read
        edit.redirect(read, variable.read_value() + 1.0)
        assert run(double) == 8.0


def test_an_operation_waits_for_the_operations_that_were_added() -> None:
    with tf.Graph().as_default():
        variable = tf.Variable(0.0, use_resource=True)
        read = variable.read_value()
        edit.add_controls(read.op.inputs[0].op, [variable.assign_add(1.0).op])
        assert run(read) == 1.0


@pytest.mark.parametrize("replaced", [True, False])
def test_a_control_edge_is_replaced_or_removed_and_others_stay(replaced: bool) -> None:
    with tf.Graph().as_default():
        old, kept, new = (tf.no_op(name) for name in ("old", "kept", "new"))
        with tf.control_dependencies([old, kept]):
            waiting = tf.no_op("waiting")
        edit.replace_control(waiting, old, new if replaced else None)
        assert waiting.control_inputs == ([kept, new] if replaced else [kept])
        assert old._control_outputs == []
