"""Training steps drawn from a seed that change variables of their own besides the weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.training.moving_averages import assign_moving_average

from support.random_steps import OPTIMIZERS

v1 = tf.compat.v1
CODES, IDS = 4, 6


@dataclass
class Seen:
    """What a state may be computed from: rows [rows, 3], ids [rows, 2], labels, predictions and the loss."""

    x: Any
    ids: Any
    y: Any
    predicted: Any
    loss: Any


def variable(name: str, shape: list[int], begin: float = 0.0, **fields: Any) -> Any:
    initializer = v1.constant_initializer(begin)
    return v1.get_variable(name, shape, initializer=initializer, trainable=False, **fields)


def in_a_cond(condition: Callable[[Seen, Any], Any], change: Callable[[Seen, Any], Any]) -> Any:
    def state(seen: Seen, name: str) -> tuple[Any, Any]:
        n = variable(name, [])
        return n, tf.cond(condition(seen, n), lambda: change(seen, n), lambda: n + 0.0)

    return state


def scalar(change: Callable[[Seen, Any], Any], **fields: Any) -> Any:
    def state(seen: Seen, name: str) -> tuple[Any, Any]:
        n = variable(name, [], **fields)
        return n, change(seen, n)

    return state


def codes(seen: Seen, name: str) -> tuple[Any, Any]:
    """A codebook that follows the rows that are nearest to each code."""
    begin = np.linspace(-1, 1, CODES * 3).reshape(CODES, 3).astype("float32")
    book = v1.get_variable(name, initializer=begin, trainable=False)
    distance = tf.reduce_sum(tf.square(seen.x[:, None] - book[None]), 2)
    nearest = tf.one_hot(tf.argmin(distance, 1), CODES)
    counts = tf.reduce_sum(nearest, 0)[:, None]
    mean = tf.math.divide_no_nan(tf.matmul(nearest, seen.x, transpose_a=True), counts)
    return book, book.assign_sub(0.3 * tf.where(counts > 0, book - mean, tf.zeros_like(mean)))


def table(seen: Seen, name: str) -> tuple[Any, Any]:
    counts = variable(name, [IDS])
    ones = tf.ones_like(seen.ids, tf.float32)
    return counts, counts.scatter_add(tf.IndexedSlices(ones, seen.ids))


def in_a_loop(seen: Seen, name: str) -> tuple[Any, Any]:
    n = variable(name, [])

    def body(i: Any) -> Any:
        with tf.control_dependencies([n.assign_add(tf.reduce_mean(seen.y))]):
            return i + 1

    return n, tf.while_loop(lambda i: i < 3, body, [0])[0]


def in_a_function(seen: Seen, name: str) -> tuple[Any, Any]:
    n = variable(name, [])
    called = tf.function(lambda x: n.assign(n * 0.5 + tf.reduce_max(x)), autograph=False)
    return n, called(seen.predicted)


def average_of_class(seen: Seen, name: str) -> tuple[Any, Any]:
    average = tf.train.ExponentialMovingAverage(0.7)
    value = tf.math.reduce_std(seen.predicted, name=name)
    return value, average.apply([value])


MEAN, SUM = tf.VariableAggregation.MEAN, tf.VariableAggregation.SUM
States = Callable[[Seen, str], "tuple[Any, Any]"]
STATES: dict[str, States] = {
    "steps": scalar(lambda s, n: n.assign_add(1.0)),
    "rows": scalar(lambda s, n: n.assign_add(tf.cast(tf.shape(s.x)[0], tf.float32))),
    "sum": scalar(lambda s, n: n.assign_add(tf.reduce_sum(s.x * s.predicted[:, None]))),
    "average": scalar(lambda s, n: n.assign_sub(0.5 * (n - tf.reduce_mean(s.y)))),
    "moving average": scalar(
        lambda s, n: assign_moving_average(n, tf.reduce_mean(s.predicted), 0.8, zero_debias=False)
    ),
    "debiased average": scalar(
        lambda s, n: assign_moving_average(n, tf.reduce_mean(s.y), 0.8, zero_debias=True)
    ),
    "average of a class": average_of_class,
    "average of losses": scalar(lambda s, n: n.assign(0.9 * n + 0.1 * s.loss)),
    "largest": scalar(lambda s, n: n.assign(tf.maximum(n, tf.reduce_max(s.predicted)))),
    "variance": scalar(lambda s, n: n.assign(tf.math.reduce_variance(s.x))),
    "first": scalar(lambda s, n: n.assign(s.y[0] * 2.0)),
    "declared mean": scalar(
        lambda s, n: n.assign_sub(0.1 * (n - tf.reduce_mean(s.x))), aggregation=MEAN
    ),
    "declared sum": scalar(lambda s, n: n.assign_add(tf.reduce_sum(s.x)), aggregation=SUM),
    "cond of steps": in_a_cond(lambda s, n: n.read_value() < 2.0, lambda s, n: n.assign_add(1.0)),
    "cond of the loss": in_a_cond(lambda s, n: s.loss > 0.7, lambda s, n: n.assign_add(1.0)),
    "cond of rows": in_a_cond(
        lambda s, n: tf.reduce_max(s.y) > n, lambda s, n: n.assign_add(tf.reduce_mean(s.predicted))
    ),
    "codes": codes,
    "table": table,
    "loop": in_a_loop,
    "function": in_a_function,
}
PLACES = ("before the loss", "after the loss", "beside the step", "after the step")


def change(names: list[str], seen: Seen, before: list[Any], is_read: bool) -> tuple[list[Any], Any]:
    """Change states one after another; return what must run before the next, and a number that reads them."""
    factor = tf.constant(1.0)
    for index, name in enumerate(names):
        with tf.control_dependencies(before):
            value, update = STATES[name](seen, f"state_{index}")
        before = [update]
        if is_read and isinstance(value, tf.Variable):
            with tf.control_dependencies(before):
                factor += 0.1 * tf.tanh(tf.reduce_sum(value.read_value()))
                before = [*before, factor]
    return before, factor


def step_of(names: list[str], place: str, is_read: bool, optimizer: int) -> Any:
    """Return a function of features and labels, as ``support.micro_batches.Trained`` calls it.

    With ``is_read``, a loss that follows the states in the step depends on them.
    """

    def function(features: Any, labels: Any) -> Any:
        x = features["x"]
        begin = np.linspace(-0.5, 0.5, 3).astype("float32")[:, None]
        hidden = v1.get_variable("hidden", initializer=np.tile(begin, 4) + np.eye(3, 4, dtype="f"))
        kernel = v1.get_variable("kernel", initializer=np.tile(begin[:1], (4, 1)))
        predicted = (tf.tanh(x @ hidden) @ kernel)[:, 0]
        loss = tf.reduce_mean(tf.square(predicted - labels))
        seen = Seen(x, features["ids"], labels, predicted, loss)
        before: list[Any] = []
        if place in PLACES[:2]:
            first = [] if place == PLACES[0] else [loss]
            before, factor = change(names, seen, first, is_read)
            with tf.control_dependencies(before):
                loss = tf.identity(loss) * factor
        with tf.control_dependencies(before):
            step = OPTIMIZERS[optimizer]().minimize(loss, var_list=[hidden, kernel])
        if place in PLACES[2:]:
            first = [] if place == PLACES[2] else [step]
            step = tf.group(step, *change(names, seen, first, is_read)[0])
        return loss, step

    return function


def draw(seed: int) -> tuple[Any, int, str]:
    """Return a step, a number of micro-batches, and both in words."""
    numbers = np.random.default_rng(seed)
    names = [str(each) for each in numbers.choice(list(STATES), numbers.integers(1, 4))]
    place, is_read = str(numbers.choice(PLACES)), bool(numbers.random() < 0.5)
    optimizer, micro_batches = int(numbers.integers(len(OPTIMIZERS))), int(numbers.integers(2, 6))
    words = f"{names} {place}{', read' if is_read else ''}; optimizer {optimizer}, {micro_batches} micro-batches"
    return step_of(names, place, is_read, optimizer), micro_batches, words
