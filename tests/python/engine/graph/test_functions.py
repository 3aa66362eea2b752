"""Functions of graphs with loops and conditions."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.graph import functions

v1 = tf.compat.v1

pytestmark = [pytest.mark.usefixtures("tensorflow"), pytest.mark.versions]


@pytest.fixture
def nested() -> Any:
    """A loop whose body has a condition with an exponential in one of its branches."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")

        def body(value: Any) -> Any:
            return tf.cond(value > 1.0, lambda: tf.exp(value), lambda: value + 1.0)

        tf.while_loop(lambda value: value < 5.0, body, [x])
    return graph


def test_nodes_are_found_through_the_functions_that_call_them(nested: Any) -> None:
    nodes = [each.node_def for each in nested.get_operations()]
    (loop,) = (node for node in nodes if node.op in ("While", "StatelessWhile"))
    direct = {loop.attr[name].func.name for name in ("cond", "body")}
    assert set(functions.called_names(nested, nodes)) == direct
    found = list(functions.called_nodes(nested, nodes))
    (inside,) = (name for name, node in found if node.op == "Exp")
    assert inside not in direct
    names = {each.signature.name for each in functions.find_all(nested)}
    assert {name for name, _ in found} == names


def test_a_function_that_a_graph_lacks_is_none(nested: Any) -> None:
    assert functions.find(nested, "another") is None


def test_nodes_that_results_do_not_depend_on_are_left_out() -> None:
    @tf.function
    def function(x: Any) -> Any:
        tf.exp(x, name="unused")
        with tf.control_dependencies([tf.debugging.assert_positive(x)]):
            return tf.negative(x, name="result")

    with tf.Graph().as_default() as graph:
        call = function(v1.placeholder(tf.float32, []))
    names = {node.name for _, node in functions.called_nodes(graph, [call.op.node_def])}
    assert "result" in names
    assert "unused" not in names
    assert any("assert" in name for name in names)
