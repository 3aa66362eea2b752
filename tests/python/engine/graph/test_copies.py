"""Copies of operations, and what they share with the originals."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.graph import copies, walk

v1 = tf.compat.v1

pytestmark = [pytest.mark.usefixtures("tensorflow"), pytest.mark.versions]


def run(values: Any) -> Any:
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        return session.run(values)


def made_between(begin: Any, end: Any) -> list[Any]:
    """The operations from one tensor to another one."""
    after = set(walk.descendants([begin])) - {begin.op}
    return walk.in_order(walk.ancestors([end], until=lambda each: each not in after))


def test_a_copy_reads_replacements_and_what_the_original_reads() -> None:
    with tf.Graph().as_default():
        x, weight = tf.constant(2.0, name="x"), tf.constant(10.0, name="weight")
        result = tf.exp(x) * 0.0 + x * weight
        subgraph = copies.Subgraph(made_between(x, result))
        assert {"x:0", "weight:0"} <= subgraph.outside.keys()
        (copy,) = subgraph.copy({"x:0": tf.constant(3.0)}, [result], "copy")
        assert copy.name.startswith("copy/")
        assert run([result, copy]) == [20.0, 30.0]


def test_a_wanted_tensor_that_is_not_copied_is_its_replacement_or_itself() -> None:
    with tf.Graph().as_default():
        x, other = tf.constant(2.0), tf.constant(7.0)
        result = tf.negative(x)
        subgraph = copies.Subgraph([result.op])
        copy, of_x, same = subgraph.copy({x.name: other}, [result, x, weight := tf.zeros([])], "c")
        assert run(copy) == -7.0
        assert (of_x.name, same.name) == (other.name, weight.name)


def test_a_copy_shares_the_variables_and_tables_of_the_original() -> None:
    with tf.Graph().as_default():
        total = tf.Variable(1.0, use_resource=True)
        values = tf.lookup.KeyValueTensorInitializer(["a", "b"], [10.0, 20.0])
        table = tf.lookup.StaticHashTable(values, 0.0)
        word = tf.constant("a")
        added = tf.identity(total.assign_add(table.lookup(word)))
        subgraph = copies.Subgraph(made_between(word, added))
        (copy,) = subgraph.copy({word.name: tf.constant("b")}, [added], "copy")
        with v1.Session() as session:
            session.run([total.initializer, v1.tables_initializer()])
            assert [session.run(added), session.run(copy)] == [11.0, 31.0]


def test_control_edges_stay_inside_and_those_from_outside_are_listed() -> None:
    with tf.Graph().as_default():
        first, inside = tf.no_op("first"), tf.no_op("inside")
        with tf.control_dependencies([first, inside]):
            result = tf.constant(1.0)
        subgraph = copies.Subgraph([inside, result.op])
        assert subgraph.before == [first]
        (copy,) = subgraph.copy({}, [result], "copy")
        assert [each.name for each in copy.op.control_inputs] == ["copy/inside"]


def test_a_copy_is_placed_by_its_device_and_not_beside_the_original() -> None:
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        with v1.colocate_with(one.op), tf.device("/cpu:1"):
            result = tf.negative(one)
        definition = copies.define([result.op], without=["T"])
        assert set(definition.node[0].attr) == set()
        assert set(result.op.node_def.attr) == {"T", "_class"}
        assert definition.node[0].device == result.op.device


def test_a_copy_in_the_body_of_a_loop_reads_captured_tensors_and_calls_functions() -> None:
    with tf.Graph().as_default():
        x, weight = tf.constant(1.0, name="x"), tf.Variable(2.0, use_resource=True).read_value()
        result = tf.cond(x < 4.0, lambda: x * weight, lambda: x * 10.0)
        subgraph = copies.Subgraph(made_between(x, result))

        def body(index: Any, value: Any) -> Any:
            return index + 1, subgraph.copy({x.name: value}, [result], "copy")[0]

        _, last = tf.while_loop(lambda index, value: index < 3, body, (tf.constant(0), x))
        assert run(last) == 40.0


def test_replacements_of_tensors_that_no_node_reads_are_ignored() -> None:
    with tf.Graph().as_default():
        pair = tf.split(tf.zeros([2]), 2, name="pair")
        result = tf.negative(pair[1], name="result")
        definition = copies.define([result.op])
        assert copies.read_names(definition) == {"pair:1"}
        replaced = {"pair:1": tf.ones([1]), "pair:0": tf.ones([1]), "unknown:0": tf.ones([1])}
        (copy,) = copies.insert(definition, replaced, ["result:0"], "copy")
        assert float(run(copy)[0]) == -1.0


@pytest.mark.parametrize("read", ["node", "node:1", "^node"])
def test_inputs_in_a_definition_name_their_nodes(read: str) -> None:
    assert copies.node_name(read) == "node"
