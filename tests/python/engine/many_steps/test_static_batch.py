"""Steps of full batches: fewer operations, the same results to the bit, and no check lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.many_steps import row_checks, static_batch

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")

BATCH = 4
GIVEN = {"rows:0": (tf.float32, [BATCH, 2]), "labels:0": (tf.int32, [BATCH, 1])}
LABELS = np.array([[0], [1], [1], [0], [1], [0], [0]], np.int32)
ROWS = np.arange(14, dtype=np.float32).reshape(7, 2)


def loss_of_two_classes(rows: Any, labels: Any) -> Any:
    weight = tf.constant([[1.0], [-0.5]])
    target = tf.cast(labels, tf.float32)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=tf.matmul(rows, weight))
    return tf.reduce_sum(losses) / tf.cast(tf.size(losses), tf.float32)


def built(function: Callable[..., Any]) -> Any:
    """Build a step in a graph of its own; return its result."""
    with tf.Graph().as_default():
        rows = v1.placeholder(tf.float32, [None, 2], "rows")
        labels = v1.placeholder(tf.int32, [None, 1], "labels")
        return tf.identity(function(rows, labels), "result")


def simplified(result: Any, passing: frozenset[str] = frozenset()) -> Any:
    definition = result.graph.as_graph_def()
    for node in definition.node:
        node.attr.pop("_class", None)
    kept = [node for node in definition.node if f"{node.name}:0" not in GIVEN]
    step = v1.GraphDef(versions=definition.versions, library=definition.library, node=kept)
    return static_batch.simplified(step, ["result"], GIVEN, passing)


def computed(definition: Any, batch: int = BATCH) -> Any:
    fed = {"rows:0": ROWS[:batch], "labels:0": LABELS[:batch]}
    with tf.Graph().as_default(), v1.Session() as session:
        inputs = {name: v1.placeholder(*GIVEN[name]) for name in GIVEN}
        read = {name for node in definition.node for name in node.input}
        used = {name: each for name, each in inputs.items() if {name, name[:-2]} & read}
        (result,) = tf.import_graph_def(definition, used, ["result:0"], name="")
        return session.run(result, {inputs[name]: values for name, values in fed.items()})


def types(definition: Any) -> list[str]:
    return [node.op for node in definition.node]


def gradients(rows: Any, labels: Any) -> Any:
    logits = tf.identity(rows)
    return tf.gradients(loss_of_two_classes(logits, labels), logits)[0]


def summed_over_broadcast_rows(rows: Any, labels: Any) -> Any:
    offset = tf.constant([0.5, 2.0])
    return tf.gradients(tf.square(rows + offset) * tf.cast(labels, tf.float32), offset)[0]


@pytest.mark.parametrize("function", [loss_of_two_classes, gradients, summed_over_broadcast_rows])
def test_results_are_the_same_to_the_bit(function: Callable[..., Any]):
    result = built(function)
    with v1.Session(graph=result.graph) as session:
        fed = {"rows:0": ROWS[:BATCH], "labels:0": LABELS[:BATCH]}
        expected = session.run(result, fed)
    np.testing.assert_array_equal(computed(simplified(result)), expected)


def test_nothing_that_depends_on_shapes_alone_is_left():
    left = types(simplified(built(gradients)))
    assert not {"Shape", "Size", "BroadcastGradientArgs", "Tile", "ZerosLike", "Fill"} & set(left)
    # Only sums over rows remain, and none in this one.
    assert "Sum" not in left


def test_sums_over_rows_remain():
    assert types(simplified(built(summed_over_broadcast_rows))).count("Sum") == 1


def test_a_reversed_batch_is_not_taken_for_the_batch():
    result = built(lambda rows, labels: rows[::-1])
    np.testing.assert_array_equal(computed(simplified(result)), ROWS[:BATCH][::-1])


def test_updates_that_a_constant_waits_for_remain():
    def step(rows: Any, labels: Any) -> Any:
        variable = v1.get_variable("v", [], use_resource=True)
        with tf.control_dependencies([variable.assign_add(tf.reduce_sum(rows))]):
            return tf.size(rows)

    assert "AssignAddVariableOp" in types(simplified(built(step)))


# Checks -------------------------------------------------------------------------------------------


def checked(rows: Any, labels: Any) -> Any:
    with tf.control_dependencies([tf.debugging.assert_less(labels, 2)]):
        return tf.reduce_sum(rows)


def checked_in_branch(rows: Any, labels: Any) -> Any:
    passes = tf.reduce_all(labels < 2)
    guard = tf.cond(passes, tf.no_op, lambda: tf.raw_ops.Assert(condition=passes, data=[labels]))
    with tf.control_dependencies([guard]):
        return tf.reduce_sum(rows)


def checked_by_shape(rows: Any, labels: Any) -> Any:
    with tf.control_dependencies(
        [tf.debugging.assert_equal(tf.shape(rows)[0], tf.shape(labels)[0])]
    ):
        return tf.reduce_sum(rows)


def checked_together(rows: Any, labels: Any) -> Any:
    # Holds for all rows together, and not for every batch.
    with tf.control_dependencies([tf.debugging.assert_positive(tf.reduce_sum(labels))]):
        return tf.reduce_sum(rows)


def updated_if(rows: Any, labels: Any) -> Any:
    variable = v1.get_variable("v", [], use_resource=True)
    update = tf.cond(
        tf.reduce_all(labels < 2), lambda: variable.assign(1.0), lambda: variable.assign(0.0)
    )
    with tf.control_dependencies([update]):
        return tf.reduce_sum(rows)


def passing(result: Any, labels: Any = LABELS) -> frozenset[str]:
    return row_checks.passing(result.graph.get_operations(), GIVEN, [ROWS, labels])


def checks(definition: Any) -> list[str]:
    return [each for each in types(definition) if each in ("Assert", "If", "StatelessIf")]


@pytest.mark.parametrize("function", [checked, checked_in_branch])
def test_a_check_of_labels_is_made_once_for_all_rows(function: Callable[..., Any]):
    result = built(function)
    assert len(passing(result)) == 1
    left = simplified(result, passing(result))
    assert checks(left) == []
    assert "Less" not in types(left)


@pytest.mark.parametrize("function", [checked, checked_in_branch])
def test_a_check_that_some_row_fails_is_made_in_every_step(function: Callable[..., Any]):
    result = built(function)
    wrong = LABELS.copy()
    wrong[5] = 2
    assert passing(result, wrong) == frozenset()
    assert len(checks(simplified(result))) == 1


def test_a_check_of_shapes_is_made_once():
    assert checks(simplified(built(checked_by_shape))) == []


@pytest.mark.parametrize("function", [checked_together, updated_if])
def test_what_is_no_check_of_single_rows_remains(function: Callable[..., Any]):
    result = built(function)
    assert passing(result) == frozenset()
    assert len(checks(simplified(result))) == 1
