"""Training steps that accumulate gradients, in a bare graph: numbers, updates, effects and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.checkpoints import assert_alike
from support.micro_batches import ROWS, Trained, X, same
from support.sampling import sampled

from tfdistribute.errors import ModelError

v1 = tf.compat.v1
legacy = tf.keras.optimizers.legacy
layers = tf.keras.layers

pytestmark = pytest.mark.usefixtures("tensorflow")


def mean_square(predicted: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.square(tf.squeeze(predicted, 1) - labels))


def deep(x: Any) -> Any:
    return layers.Dense(1)(layers.Dense(4, "tanh", name="hidden")(x))


def get_updates(features: Any, labels: Any) -> Any:
    loss = mean_square(deep(features["x"]), labels)
    return loss, legacy.SGD(0.1, momentum=0.9).get_updates(loss, v1.trainable_variables())[0]


def tensorflow_1(features: Any, labels: Any) -> Any:
    loss = mean_square(v1.layers.dense(features["x"], 1), labels)
    return loss, v1.train.AdagradOptimizer(0.1).minimize(loss)


def tape(features: Any, labels: Any) -> Any:
    with tf.GradientTape() as recorded:
        loss = mean_square(deep(features["x"]), labels)
    variables = v1.trainable_variables()
    found = recorded.gradient(loss, variables)
    return loss, legacy.SGD(0.1).apply_gradients(zip(found, variables, strict=True))


def clipped(features: Any, labels: Any) -> Any:
    loss = mean_square(deep(features["x"]), labels)
    variables = v1.trainable_variables()
    found, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 0.1)
    return loss, legacy.SGD(0.5).apply_gradients(zip(found, variables, strict=True))


def regularised(features: Any, labels: Any) -> Any:
    loss = mean_square(deep(features["x"]), labels)
    loss += 0.1 * tf.add_n([tf.nn.l2_loss(each) for each in v1.trainable_variables()])
    return loss, v1.train.GradientDescentOptimizer(0.1).minimize(loss)


def embedded(optimizer: Any, unique: bool = False) -> Any:
    def function(features: Any, labels: Any) -> Any:
        table = v1.get_variable(
            "table", [6, 2], initializer=tf.keras.initializers.RandomNormal(seed=2)
        )
        if unique:
            looked = tf.nn.safe_embedding_lookup_sparse(table, features["sparse"])
        else:
            looked = tf.reshape(tf.gather(table, features["ids"]), [-1, 4])
        loss = mean_square(layers.Dense(1, kernel_initializer="ones")(looked), labels)
        return loss, optimizer().get_updates(loss, v1.trainable_variables())[0]

    return function


def condition(features: Any, labels: Any) -> Any:
    hidden = deep(features["x"])
    hidden = tf.cond(
        tf.reduce_mean(features["x"]) > 100.0, lambda: hidden * 2.0, lambda: hidden * 1.5
    )
    loss = mean_square(hidden, labels)
    return loss, legacy.SGD(0.1).get_updates(loss, v1.trainable_variables())[0]


def recurrent(features: Any, labels: Any) -> Any:
    loss = mean_square(layers.Dense(1)(layers.LSTM(3)(features["x"][:, :, None])), labels)
    return loss, legacy.SGD(0.1).get_updates(loss, v1.trainable_variables())[0]


def checked(features: Any, labels: Any) -> Any:
    with tf.control_dependencies([tf.debugging.assert_less(features["x"], 100.0)]):
        loss = mean_square(deep(features["x"]), labels)
        return loss, v1.train.GradientDescentOptimizer(0.1).minimize(loss)


def penalised(features: Any, labels: Any) -> Any:
    x = features["x"]
    predicted = deep(x)
    (slope,) = tf.gradients(predicted, x)
    loss = mean_square(predicted, labels) + tf.reduce_mean(tf.square(slope))
    return loss, legacy.SGD(0.1).get_updates(loss, v1.trainable_variables())[0]


def alternating(features: Any, labels: Any) -> Any:
    """The second optimizer sees what the first has done, as in a GAN."""
    first, second = layers.Dense(4, name="first"), layers.Dense(1, name="second")
    loss = mean_square(second(first(features["x"])), labels)
    own = legacy.SGD(0.1).get_updates(loss, first.trainable_variables)[0]
    with tf.control_dependencies([own]):
        again = mean_square(second(first(features["x"])), labels)
        other = v1.train.GradientDescentOptimizer(0.1).minimize(
            again, var_list=second.trainable_variables
        )
    return again, other


def updated(features: Any, labels: Any) -> Any:
    """Each optimizer waits for an update by the batch, as for moving averages, and the second for the first."""
    first, second = layers.Dense(4, name="first"), layers.Dense(1, name="second")
    rows = v1.get_variable("rows", [], tf.int64, v1.zeros_initializer(), trainable=False)
    step = tf.no_op()
    for layer in (first, second):
        with tf.control_dependencies([step]):
            loss = mean_square(second(first(features["x"])), labels)
            update = tf.group(rows.assign_add(tf.shape(features["x"], tf.int64)[0]))
        with tf.control_dependencies([update]):
            optimizer = v1.train.GradientDescentOptimizer(0.1)
            step = optimizer.minimize(loss, var_list=layer.trainable_variables)
    return loss, step


def two_optimizers(features: Any, labels: Any) -> Any:
    first, second = layers.Dense(4, name="first"), layers.Dense(1, name="second")
    loss = mean_square(second(first(features["x"])), labels)
    with tf.control_dependencies([legacy.SGD(0.1).get_updates(loss, first.trainable_variables)[0]]):
        step = tf.no_op()
    return loss, tf.group(
        step, legacy.Adam(0.1, epsilon=0.1).get_updates(loss, second.trainable_variables)
    )


def flat(features: Any, labels: Any) -> Any:
    """The norm of a gradient by weights is part of the loss."""
    loss = mean_square(deep(features["x"]), labels)
    slopes = tf.gradients(loss, v1.trainable_variables())
    loss += 0.1 * tf.add_n([tf.reduce_sum(tf.square(each)) for each in slopes])
    return loss, legacy.SGD(0.1).get_updates(loss, v1.trainable_variables())[0]


MODELS = {
    each.__name__: each
    for each in (
        get_updates,
        tensorflow_1,
        tape,
        clipped,
        regularised,
        condition,
        recurrent,
        checked,
        penalised,
        alternating,
        updated,
        two_optimizers,
        flat,
    )
}
MODELS["embedding"] = embedded(lambda: legacy.Adagrad(0.1))
MODELS["embedding, momentum"] = embedded(lambda: legacy.SGD(0.1, momentum=0.9))
MODELS["clipped embedding"] = embedded(lambda: legacy.SGD(0.5, clipnorm=0.1), unique=True)


@sampled(
    "kind",
    MODELS,
    check=MODELS,
    versions=["get_updates", "tensorflow_1", "condition", "updated", "clipped embedding"],
)
def test_micro_batches_change_no_number(kind: str):
    same(MODELS[kind])


@pytest.mark.parametrize(("rows", "parts"), [(2, 4), (1, 3), (14, 14), (14, 5)])
def test_uneven_and_missing_rows_count_once(rows: int, parts: int):
    one, several = Trained(get_updates, 1, rows), Trained(get_updates, parts, rows)
    assert_alike(several.variables, one.variables, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(several.losses, one.losses, rtol=2e-6)


@pytest.mark.smoke
def test_a_loss_that_is_a_sum_is_added_up():
    def summed(features: Any, labels: Any) -> Any:
        loss = tf.reduce_sum(tf.square(tf.squeeze(deep(features["x"]), 1) - labels))
        return loss, legacy.SGD(0.01).get_updates(loss, v1.trainable_variables())[0]

    same(summed, sums_loss=True)


def test_moving_averages_get_the_mean_of_the_micro_batches():
    def normalised(features: Any, labels: Any) -> Any:
        x = v1.layers.batch_normalization(features["x"], training=True, momentum=0.5)
        loss = mean_square(deep(x), labels)
        with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
            return loss, v1.train.GradientDescentOptimizer(0.1).minimize(loss)

    found = Trained(normalised, 2, steps=1).variables
    halves = X[:7], X[7:]
    means = np.mean([half.mean(0) for half in halves], 0)
    variances = np.mean([half.var(0) for half in halves], 0)
    np.testing.assert_allclose(found["batch_normalization/moving_mean"], means / 2, rtol=1e-5)
    np.testing.assert_allclose(
        found["batch_normalization/moving_variance"], (1 + variances) / 2, rtol=1e-5
    )


def test_summaries_show_numbers_of_the_whole_batch():
    def summarized(features: Any, labels: Any) -> Any:
        loss, train_op = get_updates(features, labels)
        v1.summary.scalar("error", loss)
        return loss, train_op

    one, several = (Trained(summarized, count).summaries for count in (1, 4))
    (expected,), (found,) = (v1.Summary.FromString(each).value for each in (one, several))
    assert found.simple_value == pytest.approx(expected.simple_value, rel=2e-6)


def test_counters_count_the_rows_of_all_micro_batches_once():
    def counting(features: Any, labels: Any) -> Any:
        rows = v1.get_variable("rows", [], tf.int64, v1.zeros_initializer(), trainable=False)
        loss, train_op = get_updates(features, labels)
        return loss, tf.group(train_op, rows.assign_add(tf.shape(features["x"], tf.int64)[0]))

    assert same(counting).variables["rows"] == 3 * ROWS
    # Even if the input knows its number of rows.
    assert same(counting, static=True).variables["rows"] == 3 * ROWS


def test_each_micro_batch_draws_another_mask():
    def noisy(features: Any, labels: Any) -> Any:
        drawn = tf.random.uniform(tf.shape(labels))
        seen = v1.get_variable("seen", [], initializer=v1.zeros_initializer(), trainable=False)
        loss, train_op = get_updates(features, labels)
        return loss, tf.group(train_op, seen.assign_add(tf.reduce_sum(drawn)))

    # Sums of the same seven numbers would be equal in every micro-batch.
    one = Trained(noisy, 2, steps=1).variables["seen"]
    two = Trained(noisy, 2, steps=2).variables["seen"]
    assert len({one, two - one, one / 2}) == 3


def test_checks_run_in_each_micro_batch():
    def failing(features: Any, labels: Any) -> Any:
        limit = float(np.sort(X.max(1))[-2])
        check = tf.debugging.assert_less_equal(features["x"], limit, message="too large")
        loss, train_op = get_updates(features, labels)
        with tf.control_dependencies([check]):
            return loss, tf.group(train_op)

    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        Trained(failing, 4)


def test_a_function_of_python_runs_once_for_each_micro_batch():
    rows: list[int] = []

    def noting(features: Any, labels: Any) -> Any:
        noted = v1.py_func(lambda x: rows.append(len(x)), [features["x"]], [])
        loss, train_op = get_updates(features, labels)
        with tf.control_dependencies([noted]):
            return loss, tf.group(train_op)

    Trained(noting, 4, steps=1)
    assert rows == [4, 3, 4, 3]


def test_a_function_of_python_that_a_variable_depends_on_is_refused_by_name():
    def kept(features: Any, labels: Any) -> Any:
        last = v1.get_variable("last", [], initializer=v1.zeros_initializer(), trainable=False)
        value = tf.numpy_function(lambda x: x.max(), [features["x"]], tf.float32, name="largest")
        loss, train_op = get_updates(features, labels)
        return loss, tf.group(train_op, last.assign(tf.reshape(value, [])))

    with pytest.raises(ModelError, match="'largest' .* would run twice"):
        Trained(kept, 2)


def test_a_loop_of_tensorflow_1_is_refused_by_name():
    def looped(features: Any, labels: Any) -> Any:
        variables = (tf.constant(0), v1.layers.dense(features["x"], 1))
        _, x = v1.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.tanh(x)), variables)
        loss = mean_square(x, labels)
        return loss, v1.train.GradientDescentOptimizer(0.1).minimize(loss)

    v1.disable_control_flow_v2()
    try:
        for micro_batches, scales_loss in ((2, False), (1, True)):
            with pytest.raises(ModelError, match="Enter.* is part of a loop of TensorFlow 1"):
                Trained(looped, micro_batches, scales_loss=scales_loss)
    finally:
        v1.enable_control_flow_v2()


def test_a_scaled_loss_changes_no_number_even_where_the_first_factor_is_too_large():
    # A loop would take a GPU longer than all else in a step.
    assert not same(get_updates, micro_batches=1, scales_loss=True).has_loop
    assert same(get_updates, micro_batches=2, scales_loss=True).has_loop

    def steep(features: Any, labels: Any) -> Any:
        loss, _ = get_updates(features, labels)
        large = loss * 1e36
        return loss, legacy.SGD(1e-37).get_updates(large, v1.trainable_variables())[0]

    for micro_batches in (1, 2):
        same(steep, micro_batches=micro_batches, scales_loss=True)
    same(flat, micro_batches=2, scales_loss=True)
