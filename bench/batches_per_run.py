"""Rows per second of evaluate() and predict(), with many batches in a run against one, for models that are not canned.

Batches of 128 rows of 20 floats that a dataset draws, hidden layers of 64 and 32 units. The two ways take turns.
``batches_per_run.py [custom] [keras]`` takes two minutes, or half with one kind of model.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenated, evaluate, predict, train

tf = engine.tf
v1 = tf.compat.v1

ROWS, WIDTH, BATCH, TURNS = 1_000_000, 20, 128, 5
MANY, ONE = RunSettings(), RunSettings(steps_per_run=1)


def layers() -> list[Any]:
    dense = tf.keras.layers.Dense
    return [dense(64, "relu"), dense(32, "relu"), dense(1)]


def model_fn(features: Any, labels: Any, mode: Any) -> Any:
    logits = tf.keras.Sequential(layers())(features["x"])
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"logits": logits})
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
    metrics = {"accuracy": v1.metrics.accuracy(labels, tf.cast(logits > 0, tf.float32))}
    optimizer = v1.train.AdagradOptimizer(0.05)
    train_op = optimizer.minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, None, loss, train_op, metrics)


def keras_model() -> Any:
    model = tf.keras.Sequential([tf.keras.Input(WIDTH, name="x"), *layers()])
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile("sgd", loss, ["accuracy"])
    return model


def source(with_labels: bool) -> Input:
    def batches() -> Any:
        # Rows in memory would be part of the graph, which takes longer to read than the models to compute.
        return tf.data.Dataset.range(0, ROWS, BATCH).map(batch, num_parallel_calls=2).prefetch(16)

    def batch(begin: Any) -> Any:
        x = tf.random.stateless_uniform((BATCH, WIDTH), (begin, 1))
        y = tf.cast(x[:, :1] + x[:, 1:2] > 1, tf.float32)
        return ({"x": x}, y) if with_labels else {"x": x}

    return read(Input, {"kind": "dataset_function", "function": batches})


def seconds(perform: Callable[[], Any]) -> float:
    started = time.perf_counter()
    perform()
    return time.perf_counter() - started


def compare(name: str, perform: Callable[[RunSettings], Any]) -> None:
    perform(MANY)
    turns = [[seconds(lambda: perform(each)) for each in (ONE, MANY)] for _ in range(TURNS)]  # noqa: B023
    ratios = sorted(one / many for one, many in turns)
    speeds = [ROWS / statistics.median(each) for each in zip(*turns, strict=True)]
    print(
        f"{name:22} one {speeds[0]:9,.0f}  many {speeds[1]:9,.0f} rows/s  "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        flush=True,
    )


for kind, fields in {
    "custom": {"model_fn": model_fn},
    "keras": {"function": keras_model},
}.items():
    if sys.argv[1:] and kind not in sys.argv[1:]:
        continue
    with tempfile.TemporaryDirectory() as directory:
        model = read(Model, {"kind": kind, "model_dir": directory, **fields})
        train(model, ONE, source(True), steps=1)
        compare(f"{kind}: evaluate", lambda way: evaluate(model, way, source(True), steps=10**6))  # noqa: B023
        compare(
            f"{kind}: predict",
            lambda way: concatenated(predict(model, way, source(False), ahead=True)),  # noqa: B023
        )
