"""Metrics whose states several processes may add up, and those that would be silently wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tfdistribute import engine
from tfdistribute.errors import UnsupportedError

ROWS = 101
RANDOM = np.random.default_rng(1)
SCORES = RANDOM.random(ROWS).astype("float32")
LABELS = (SCORES + RANDOM.random(ROWS) > 1).astype("float32")
# Each part has its own number of rows; one has none.
PARTS = [slice(0, 60), slice(60, 60), slice(60, ROWS)]

Metric = Callable[[Any, Any, Any], tuple[Any, Any]]


def keras(name: str, **arguments: Any) -> Metric:
    def make(tf: Any, labels: Any, scores: Any) -> tuple[Any, Any]:
        metric = getattr(tf.keras.metrics, name)(**arguments)
        # Keras takes a vector for one row.
        metric.update_state(labels[:, None], scores[:, None])
        for collection in ("LOCAL_VARIABLES", "METRIC_VARIABLES"):
            key = getattr(tf.compat.v1.GraphKeys, collection)
            for variable in metric.variables:
                tf.compat.v1.add_to_collection(key, variable)
        return metric.result(), metric.updates[0]

    return make


def v1(name: str, *more: Any, classes: bool = False) -> Metric:
    def make(tf: Any, labels: Any, scores: Any) -> tuple[Any, Any]:
        predicted = tf.cast(scores > 0.5, tf.int64) if classes else scores
        truth = tf.cast(labels, tf.int64) if classes else labels
        return getattr(tf.compat.v1.metrics, name)(truth, predicted, *more)

    return make


def state(tf: Any, name: str, dtype: Any = None) -> Any:
    graph_keys = tf.compat.v1.GraphKeys
    return tf.compat.v1.get_variable(
        name,
        initializer=tf.zeros([], dtype or tf.float32),
        trainable=False,
        collections=[graph_keys.LOCAL_VARIABLES],
    )


def added_as_keras_3_does(tf: Any, labels: Any, scores: Any) -> tuple[Any, Any]:
    total = state(tf, "total")
    return total.read_value(), total.assign(total.read_value() + tf.reduce_sum(scores * labels))


SUMS: dict[str, Metric] = {
    "accuracy": v1("accuracy", classes=True),
    "auc": v1("auc"),
    "precision": v1("precision", classes=True),
    "recall_at_thresholds": v1("recall_at_thresholds", [0.2, 0.5]),
    "rmse": v1("root_mean_squared_error"),
    "mean_iou": v1("mean_iou", 2, classes=True),
    "mean_per_class_accuracy": v1("mean_per_class_accuracy", 2, classes=True),
    "sensitivity_at_specificity": v1("sensitivity_at_specificity", 0.5),
    "keras_auc": keras("AUC"),
    "keras_mean_squared_error": keras("MeanSquaredError"),
    "keras_precision": keras("Precision"),
    "added_as_keras_3_does": added_as_keras_3_does,
}


def measured(
    tf: Any, metric: Metric, rows: list[slice], exchange: Callable[[Any], Any] = lambda _: None
) -> Any:
    """Evaluate some rows in batches of 16, as Estimator does."""
    with tf.Graph().as_default():
        labels = tf.compat.v1.placeholder(tf.float32, [None])
        scores = tf.compat.v1.placeholder(tf.float32, [None])
        value, update = metric(tf, labels, scores)
        hook = engine.metrics.AddStates(engine.metrics.sum_states({"metric": value}), exchange)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.local_variables_initializer())
            hook.after_create_session(session, None)
            for part in rows:
                for first in range(part.start, part.stop, 16):
                    batch = slice(first, min(first + 16, part.stop))
                    session.run(update, {labels: LABELS[batch], scores: SCORES[batch]})
            hook.end(session)
            return session.run(value)


@pytest.mark.parametrize("name", SUMS)
def test_states_of_parts_add_up_to_the_metric_of_all_rows(tensorflow: Any, name: str) -> None:
    metric, states = SUMS[name], list[Any]()
    whole = measured(tensorflow, metric, [slice(0, ROWS)])
    for part in PARTS[:-1]:
        measured(tensorflow, metric, [part], states.append)

    def add(own: Any) -> Any:
        return {key: sum((each[key] for each in states), own[key]) for key in own}

    together = measured(tensorflow, metric, PARTS[-1:], add)
    is_count = name not in ("rmse", "keras_mean_squared_error", "added_as_keras_3_does")
    assert together == pytest.approx(whole, rel=0 if is_count else 1e-6, abs=0)


def largest(tf: Any, labels: Any, scores: Any) -> tuple[Any, Any]:
    kept = state(tf, "largest")
    return kept.read_value(), kept.assign(tf.maximum(kept, tf.reduce_max(scores)))


def moving_mean(tf: Any, labels: Any, scores: Any) -> tuple[Any, Any]:
    # Only added to, but what is added depends on the mean so far.
    mean = state(tf, "mean")
    return mean.read_value(), mean.assign_add(0.1 * (tf.reduce_mean(scores) - mean))


def kept_in_python(tf: Any, labels: Any, scores: Any) -> tuple[Any, Any]:
    kept: list[Any] = []
    update = tf.numpy_function(lambda new: kept.append(new) or np.float32(0), [scores], tf.float32)
    return tf.numpy_function(lambda: np.float32(len(kept)), [], tf.float32), update


@pytest.mark.parametrize(
    ("metric", "state_name"),
    [(largest, "largest"), (moving_mean, "mean"), (kept_in_python, "PyFunc_1")],
)
def test_a_metric_that_is_not_a_sum_is_refused_by_name(
    tensorflow: Any, metric: Metric, state_name: str
) -> None:
    with pytest.raises(UnsupportedError) as caught:
        measured(tensorflow, metric, [])
    assert caught.value.problem == (
        "The metric `metric` cannot be evaluated by several workers: its state "
        f"`{state_name}` is not a sum over rows."
    )
    assert "Evaluate without `cluster`" in str(caught.value.remedy)
