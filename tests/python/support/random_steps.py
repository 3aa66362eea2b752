"""Training steps drawn from a seed: operations that may be compiled, and others that must not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from support.inputs import in_memory
from tfdistribute.inputs import Input

v1 = tf.compat.v1

ROWS, BATCH, CLASSES = 48, 8, 5
# Of numbers [rows, 4], lengths from 1 to 6, classes, and a table with a row for each class: a number.
Term = Callable[[Any, Any, Any, Any], Any]

# Of known sizes: XLA has TensorFlow's numbers, and errors are checked.
KNOWN: dict[str, Term] = {
    "cumsum": lambda f, k, c, t: tf.reduce_mean(tf.cumsum(f, 0)),
    "reverse": lambda f, k, c, t: tf.reverse(f, [0])[0, 0],
    "softmax": lambda f, k, c, t: tf.reduce_sum(tf.nn.softmax(f) * f),
    "matmul": lambda f, k, c, t: tf.reduce_mean(tf.matmul(f, f, transpose_b=True)),
    "standard deviation": lambda f, k, c, t: tf.math.reduce_std(f),
    "argmax": lambda f, k, c, t: tf.reduce_mean(tf.cast(tf.argmax(f, 1), tf.float32)),
    "one_hot": lambda f, k, c, t: tf.reduce_mean(tf.one_hot(c, CLASSES) @ t),
    "where": lambda f, k, c, t: tf.reduce_mean(tf.where(f > 0.0, f * f, tf.abs(f))),
    "concat": lambda f, k, c, t: tf.reduce_max(tf.concat([f[:3], f[4:]], 0)[2:6]),
    "pad": lambda f, k, c, t: tf.reduce_mean(tf.pad(f, [[1, 1], [0, 2]], constant_values=1.0)),
    "roll": lambda f, k, c, t: tf.reduce_mean(tf.roll(f, 1, 0) * f),
    "whole numbers": lambda f, k, c, t: tf.reduce_mean(tf.cast(c % 3 + 7 // k, tf.float32)),
    "lookup": lambda f, k, c, t: tf.reduce_mean(tf.gather(t, c)),
    "gather_nd": lambda f, k, c, t: tf.reduce_mean(tf.gather_nd(t + 0.0, c[:, None])),
    "scatter_nd": lambda f, k, c, t: tf.reduce_max(tf.scatter_nd(c[:, None], f, [CLASSES, 4])),
    "segments": lambda f, k, c, t: tf.reduce_max(tf.math.unsorted_segment_sum(f, c, CLASSES)),
    "no class": lambda f, k, c, t: tf.reduce_sum(tf.math.unsorted_segment_sum(f, c - 1, CLASSES)),
    "of a function": lambda f, k, c, t: tf.function(
        lambda x, c: tf.reduce_mean(tf.gather(x, c)) * 3.0, autograph=False
    )(t, c),
    "by zero": lambda f, k, c, t: tf.reduce_mean(tf.cast(60 // (CLASSES - c), tf.float32)) * 0.01,
}
# XLA is wrong, has other numbers, or drops errors.
OTHERS: dict[str, Term] = {
    "slice": lambda f, k, c, t: tf.reduce_mean(f[: k[0]]),
    "cumsum of a slice": lambda f, k, c, t: tf.cumsum(f[: k[0], 0])[-1],
    "sort": lambda f, k, c, t: tf.sort(f[: k[0], 0])[-1],
    "reverse of a slice": lambda f, k, c, t: tf.reverse(f[: k[0], 0], [0])[0],
    "partition": lambda f, k, c, t: tf.reduce_sum(
        tf.cumsum(tf.dynamic_partition(f[:, 0], tf.cast(f[:, 1] > 0, tf.int32), 2)[1])
    ),
    "deviation of a slice": lambda f, k, c, t: tf.math.reduce_std(f[: k[0] + 1]),
    "selected": lambda f, k, c, t: tf.reduce_sum(tf.boolean_mask(f, f[:, 0] > 0)),
    "index": lambda f, k, c, t: t[tf.reduce_max(c), 0],
    "cond": lambda f, k, c, t: tf.cond(f[0, 0] > 9.0, lambda: 0.0, lambda: f[0, 1] * 2.0),
    "cond by zero": lambda f, k, c, t: tf.cond(
        k[0] > 0, lambda: tf.cast(60 // (CLASSES - tf.reduce_max(c)), tf.float32), lambda: 0.0
    ),
    "loop": lambda f, k, c, t: tf.while_loop(
        lambda i, _: i < k[0], lambda i, x: (i + 1, x + f[i, 0]), (0, 0.0)
    )[1],
    "bfloat16": lambda f, k, c, t: tf.cast(
        tf.reduce_mean(tf.cast(f, tf.bfloat16) * tf.cast(1.7, tf.bfloat16)), tf.float32
    ),
    "noise": lambda f, k, c, t: tf.reduce_mean(tf.random.truncated_normal([3], seed=3)),
}
# TensorFlow's graph optimizers round these otherwise if they know more of the shapes.
ROUNDED: dict[str, Term] = {
    "filled": lambda f, k, c, t: tf.reduce_sum(tf.ones_like(f) * f / tf.fill(tf.shape(f), 3.0)),
    "repeated": lambda f, k, c, t: tf.reduce_mean(tf.square(f + f + f + f * 0.3)),
    "nested sums": lambda f, k, c, t: tf.reduce_mean(
        tf.square(f + (tf.sin(f) + (tf.cos(f) + tf.exp(f))))
    ),
}
TERMS = {**KNOWN, **OTHERS, **ROUNDED}
OPTIMIZERS: list[Callable[[], Any]] = [
    lambda: v1.train.GradientDescentOptimizer(0.01),
    lambda: v1.train.MomentumOptimizer(0.01, 0.9),
    lambda: v1.train.AdamOptimizer(0.01),
    lambda: v1.train.AdagradOptimizer(0.01),
    lambda: v1.train.RMSPropOptimizer(0.01),
    lambda: v1.train.FtrlOptimizer(0.01),
]


def table(seed: int, has_wrong_class: bool, batch_size: int = BATCH, epochs: int = 1) -> Input:
    numbers = np.random.default_rng(seed)
    classes = numbers.integers(0, CLASSES, ROWS).astype("int32")
    if has_wrong_class:
        classes[ROWS // 2] = CLASSES
    columns = {
        "f": numbers.normal(size=(ROWS, 4)).astype("float32"),
        "k": numbers.integers(1, 7, ROWS).astype("int32"),
        "c": classes,
        "y": numbers.normal(size=ROWS).astype("float32"),
    }
    # The wrong class is in the fourth step, which is one of the loop.
    return in_memory(columns, batch_size=batch_size, epochs=epochs, shuffle=False)


def model_of(terms: list[str], optimizer: int = 0) -> Any:
    """Return a model function whose loss has these terms, which it also adds up in a variable."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        begin = np.linspace(-0.5, 0.5, CLASSES * 4).reshape(CLASSES, 4)
        rows = v1.get_variable("rows", initializer=begin.astype("float32"))
        kernel = v1.get_variable("kernel", initializer=np.float32([[0.1], [0.2], [0.3], [0.4]]))
        seen = v1.get_variable("seen", initializer=np.zeros(len(terms), "float32"), trainable=False)
        scaled = features["f"] * kernel[:, 0] * 3.0
        values = [TERMS[each](scaled, features["k"], features["c"], rows) for each in terms]
        values = tf.stack([tf.reshape(each, []) for each in values])
        loss = tf.reduce_mean(tf.square((features["f"] @ kernel)[:, 0] - labels))
        loss += 0.1 * tf.reduce_sum(values)
        with tf.control_dependencies([seen.assign_add(values)]):
            step = v1.train.get_global_step()
            train_op = OPTIMIZERS[optimizer]().minimize(loss, step, [kernel, rows])
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return model_fn


def draw(seed: int) -> tuple[Any, Input, str]:
    """Return the model function and the input of a program, and both in words."""
    numbers = np.random.default_rng(seed)
    names = list(KNOWN) if numbers.random() < 0.7 else [*KNOWN, *OTHERS]
    terms = [str(each) for each in numbers.choice(names, numbers.integers(1, 5), replace=False)]
    if "by zero" not in terms and "lookup" not in terms:
        terms.append("segments" if "segments" not in terms else "lookup")
    optimizer, wrong = int(numbers.integers(len(OPTIMIZERS))), bool(numbers.random() < 0.25)
    words = f"{', '.join(terms)}; optimizer {optimizer}{'; a wrong class' if wrong else ''}"
    return model_of(terms, optimizer), table(seed, wrong), words
