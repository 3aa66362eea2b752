"""Effects of operations that small graphs have."""

from __future__ import annotations

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.graph import effects, walk

v1 = tf.compat.v1

pytestmark = [pytest.mark.usefixtures("tensorflow"), pytest.mark.versions]


def test_a_variable_is_named_read_and_written_by_three_kinds_of_operations() -> None:
    with tf.Graph().as_default():
        variable = tf.Variable(1.0, use_resource=True)
        read, write = variable.read_value().op, variable.assign_add(1.0).op
        write = next(each for each in walk.ancestors([write]) if each.type == "AssignAddVariableOp")
        read = next(each for each in walk.ancestors([read]) if each.type == "ReadVariableOp")
    handle = variable.handle.op
    assert handle.type in effects.VARIABLES
    assert [effects.names_resource(each) for each in (handle, read, write)] == [True, False, False]
    assert [effects.reads_variable(each) for each in (handle, read, write)] == [False, True, False]
    assert [effects.may_write(each) for each in (handle, read, write)] == [False, False, True]


def test_a_reference_to_an_old_variable_may_be_written() -> None:
    with tf.Graph().as_default():
        variable = v1.Variable(1.0, use_resource=False)
        read, write = tf.identity(variable), v1.assign(variable, 2.0)
    assert variable.op.type in effects.VARIABLES
    assert effects.returns_reference(write.op)
    assert effects.may_write(write.op)
    assert not effects.may_write(read.op)


def test_random_operations_are_stateful_and_have_seeds() -> None:
    with tf.Graph().as_default():
        drawn = tf.random.uniform([2], seed=1)
        (random,) = (each for each in walk.ancestors([drawn]) if each.type == "RandomUniform")
        total = tf.add(drawn, drawn).op
    assert effects.is_stateful(random)
    assert not effects.is_stateful(total)
    assert effects.has_seeds("RandomUniform")
    assert not effects.has_seeds("StatelessRandomUniform")
    assert not effects.has_seeds("AddV2")


def test_a_type_that_tensorflow_does_not_know_may_call_functions() -> None:
    kinds = ("AddV2", "AssignVariableOp", "PartitionedCall", "__inference_f_1")
    assert [effects.may_call_functions(kind) for kind in kinds] == [False, False, True, True]
