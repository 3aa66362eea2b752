"""Cost per step of batches from a function that the waiting thread calls.

The same batches are drawn by TensorFlow's own threads, by the waiting thread, and not at all, in turns. Prints medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tfdistribute import engine

ROWS, COLUMNS, STEPS, ROUNDS = 512, 20, 400, 9
BATCH = np.random.default_rng(1).normal(size=(ROWS, COLUMNS)).astype(np.float32)


def step(draw: Callable[[], Any]) -> Any:
    """Build a step that multiplies one batch, in the default graph."""
    tf = engine.tf

    def batches() -> Any:
        while True:
            yield draw()

    signature = tf.TensorSpec([None, COLUMNS], tf.float32)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(1)
    batch = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    return tf.reduce_sum(tf.matmul(batch, batch, transpose_a=True))


def seconds_per_step(run: Callable[[], Any]) -> float:
    for _ in range(50):
        run()
    started = time.perf_counter()
    for _ in range(STEPS):
        run()
    return (time.perf_counter() - started) / STEPS


def unserved() -> float:
    tf = engine.tf
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        result = step(lambda: BATCH)
        return seconds_per_step(lambda: session.run(result))


def served() -> float:
    tf = engine.tf
    function = engine.r_thread.main_thread_calls.ServedFunction(lambda: BATCH)
    with tf.Graph().as_default() as graph, function.serving(), tf.compat.v1.Session() as session:
        result = step(function.in_graph(graph))
        return seconds_per_step(lambda: session.run(result))


def constant(beside_serving: bool) -> float:
    """Time a step without data, alone or while another graph's input is served."""
    tf = engine.tf
    function = engine.r_thread.main_thread_calls.ServedFunction(lambda: BATCH)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        result = tf.constant(1.0) + 1.0
        if not beside_serving:
            return seconds_per_step(lambda: session.run(result))
        with function.serving():
            return seconds_per_step(lambda: session.run(result))


WAYS: dict[str, Callable[[], float]] = {
    "drawn by TensorFlow's threads": unserved,
    "drawn by the waiting thread": served,
    "another session, nothing served": lambda: constant(False),
    "another session, while something is served": lambda: constant(True),
}


def main() -> None:
    """Measure and print a table."""
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(ROUNDS):
        for name, way in WAYS.items():
            times[name].append(way())
    for name, found in times.items():
        print(f"{name:45} {statistics.median(found) * 1e6:7.0f} us per step")


if __name__ == "__main__":
    main()
