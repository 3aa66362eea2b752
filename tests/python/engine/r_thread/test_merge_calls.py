from __future__ import annotations

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.replica_graphs import (
    in_replicas,
    merge,
    mirrored,
    replica_id,
    session_config,
    total,
)

from tfdistribute.engine.r_thread.sequential_replicas import adopt
from tfdistribute.errors import ModelError

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


class OwnError(Exception):
    pass


def test_each_merge_call_sees_the_values_of_all_replicas():
    def function():
        own = tf.constant([1.0, 10.0]) if replica_id() == 0 else tf.constant([2.0, 20.0])
        first = total(own)
        second = total(own * first)
        return first + second

    # Sums 3 and 30; then (1 + 2) * 3 and (10 + 20) * 30.
    np.testing.assert_array_equal(in_replicas(function), [[12.0, 930.0], [12.0, 930.0]])


METRICS = {
    "precision": lambda labels, values: v1.metrics.precision(labels, values > 0),
    "recall": lambda labels, values: v1.metrics.recall(labels, values > 0),
    "root_mean_squared_error": v1.metrics.root_mean_squared_error,
    "mean_cosine_distance": lambda labels, values: v1.metrics.mean_cosine_distance(
        labels[:, None], values[:, None], dim=1
    ),
    "recall_at_k": lambda labels, values: v1.metrics.recall_at_k(
        tf.cast(labels[:, None], tf.int64), tf.stack([values, -values], 1), 1
    ),
    "sensitivity_at_specificity": lambda labels, values: v1.metrics.sensitivity_at_specificity(
        labels, tf.sigmoid(values), 0.5
    ),
}


@pytest.mark.versions
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_built_on_the_results_of_others_counts_the_rows_of_all_replicas(name):
    labels, values = np.array([1.0, 0, 1, 1, 0, 1], "f4"), np.array([2.0, 1, -1, 3, -2, -1], "f4")

    def measure(strategy, rows):
        def function():
            own = np.split(np.arange(6), rows)[0 if rows == 1 else replica_id()]
            value, update = METRICS[name](tf.constant(labels[own]), tf.constant(values[own]))
            return value, tf.identity(update)

        with tf.Graph().as_default():
            results = strategy.extended.call_for_each_replica(function)
            value, update = (strategy.experimental_local_results(each) for each in results)
            with v1.Session(config=session_config()) as session:
                session.run(v1.local_variables_initializer())
                session.run(update)
                return session.run(value)[0]

    expected = measure(tf.distribute.OneDeviceStrategy("CPU:0"), 1)
    np.testing.assert_allclose(measure(adopt(mirrored(2)), 2), expected, rtol=1e-6)


def test_a_merge_call_gets_the_result_of_an_earlier_one_as_on_threads():
    def functions(strategy):
        def function():
            own = tf.constant(float(replica_id() + 1))
            replica = tf.distribute.get_replica_context()
            shared = replica.merge_call(lambda _, value: tf.add_n(value.values), (own,))
            apart = replica.merge_call(lambda _, value: value, (own * 10.0,))
            # The shared result is one tensor, which needs no reduction.
            return replica.merge_call(
                lambda _, shared, apart: shared + 2 * tf.add_n(apart.values), (shared, apart)
            )

        return in_replicas(function, strategy)

    np.testing.assert_array_equal(functions(adopt(mirrored(2))), functions(mirrored(2)))


def test_control_dependencies_of_every_replica_come_before_the_merge():
    strategy = adopt(mirrored(2))
    counted = []

    def function():
        counter = v1.get_variable(
            "counter",
            initializer=0.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        counted.append(counter.read_value())
        with tf.control_dependencies([counter.assign_add(1.0 + replica_id())]):
            replica = tf.distribute.get_replica_context()
            return replica.merge_call(lambda strategy: tf.identity(1.0))

    with tf.Graph().as_default():
        results = strategy.extended.call_for_each_replica(function)
        with v1.Session(config=session_config()) as session:
            session.run(v1.global_variables_initializer())
            # Only the merge call connects replica 0's result to replica 1's counter.
            session.run(strategy.experimental_local_results(results)[0])
            assert session.run(counted) == [1.0, 2.0]


def _constant(*_):
    return tf.constant(1.0)


def by_replica(*functions):
    def function():
        return functions[replica_id()]()

    return function


DIFFERENT = {
    "fewer merge calls": (
        by_replica(lambda: (merge(), merge()), merge),
        "makes 2 merge calls in replica 0, but ends after 1 in replica 1: merge call 2 is missing",
    ),
    "more merge calls": (
        by_replica(merge, lambda: (merge(), merge())),
        "Merge call 2 of replica 1 does not exist in replica 0, which makes 1.",
    ),
    "more tensors": (
        by_replica(
            lambda: merge([tf.constant(1.0), None]),
            lambda: merge([tf.constant(1.0), tf.constant(1.0)]),
        ),
        "Merge call 1 of replica 1 passes 2 tensors where replica 0 passes 1.",
    ),
    "the result of another merge call": (
        by_replica(
            lambda: merge(tf.distribute.get_replica_context().merge_call(_constant)),
            lambda: (tf.distribute.get_replica_context().merge_call(_constant), merge(_constant())),
        ),
        "Merge call 2 of replica 1 passes 1 tensors where replica 0 passes 0.",
    ),
    "another structure": (
        by_replica(lambda: merge([1]), lambda: merge([1, 2])),
        "Merge call 1 of replica 1 passes arguments of another structure than replica 0.",
    ),
    "another dtype": (
        by_replica(lambda: merge(tf.constant(1.0)), lambda: merge(tf.constant(1))),
        r"Merge call 1 of replica 1 passes a tensor of int32 and shape \(\) where replica 0 passes float32",
    ),
    "another shape": (
        by_replica(lambda: merge(tf.zeros([2, 3])), lambda: merge(tf.zeros([1, 3]))),
        r"of float32 and shape \(1, 3\) where replica 0 passes float32 and shape \(2, 3\)",
    ),
    "tensors in other places": (
        by_replica(lambda: merge(tf.constant(1.0), None), lambda: merge(None, tf.constant(1.0))),
        "Merge call 1 of replica 1 passes None where replica 0 passes a tensor of float32.",
    ),
    "another constant": (
        by_replica(lambda: merge(name="mean"), lambda: merge(name="sum")),
        "Merge call 1 of replica 1 passes 'sum' where replica 0 passes 'mean'.",
    ),
    "another variable": (
        lambda: merge([v1.get_variable(name, []) for name in "ab"][replica_id()]),
        "Merge call 1 of replica 1 passes the variable b:0 where replica 0 passes the variable a:0.",
    ),
    "a variable of its own": (
        by_replica(lambda: None, lambda: tf.Variable(0.0, name="extra")),
        "makes the variable extra in replica 1, but not in replica 0",
    ),
    "another result": (
        by_replica(lambda: {"loss": 1}, lambda: {"loss": 1, "mean": 2}),
        "returns another structure in replica 1 than in replica 0",
    ),
}


@pytest.mark.parametrize("difference", DIFFERENT)
def test_replicas_that_differ_are_refused_by_name(difference):
    function, text = DIFFERENT[difference]
    with pytest.raises(ModelError, match=text) as caught:
        in_replicas(function)
    assert caught.value.remedy is not None


def test_the_third_replica_is_named_where_it_alone_differs():
    with pytest.raises(ModelError, match="Merge call 1 of replica 2 passes 0 tensors"):
        in_replicas(
            lambda: merge(None if replica_id() == 2 else tf.constant(1.0)), adopt(mirrored(3))
        )


def test_a_merge_call_where_replicas_cannot_meet_is_refused():
    def function():
        tf.function(lambda: merge(tf.constant(1.0)), autograph=False)()

    with pytest.raises(
        ModelError, match=r"Merge call 1 of replica 0 is made inside a tf\.function"
    ):
        in_replicas(function)


@pytest.mark.parametrize("swallowed", [True, False])
def test_a_refusal_keeps_its_class_if_model_fn_wraps_it(swallowed):
    def function():
        if replica_id() == 1:
            try:
                merge()
            except ModelError as error:
                if not swallowed:
                    raise OwnError(str(error)) from None

    with pytest.raises(ModelError, match="Merge call 1 of replica 1 does not exist"):
        in_replicas(function)
