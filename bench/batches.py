"""Rows per second of evaluate() and predict(), with a hook that sees every batch against none, for models not canned.

Batches of 128 rows of 20 floats that a dataset draws, or of rows in memory; hidden layers of 64 and 32 units. The two
ways take turns. ``batches.py [custom] [keras]`` takes two minutes, or half with one kind of model.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.inputs import Column, InMemory, Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, evaluate, predict, train

tf = engine.tf
v1 = tf.compat.v1

ROWS, WIDTH, BATCH, TURNS = 1_000_000, 20, 128, 5
SETTINGS = RunSettings()


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


class Watch(tf.estimator.SessionRunHook):
    """Sees every batch."""

    def after_run(self, run_context: Any, run_values: Any) -> None:
        pass


def drawn(with_labels: bool) -> Input:
    def batches() -> Any:
        return tf.data.Dataset.range(0, ROWS, BATCH).map(batch, num_parallel_calls=2).prefetch(16)

    def batch(begin: Any) -> Any:
        x = tf.random.stateless_uniform((BATCH, WIDTH), (begin, 1))
        y = tf.cast(x[:, :1] + x[:, 1:2] > 1, tf.float32)
        return ({"x": x}, y) if with_labels else {"x": x}

    return read(Input, {"kind": "dataset_function", "function": batches})


def in_memory(with_labels: bool) -> Input:
    x = np.random.default_rng(1).uniform(size=(ROWS, WIDTH)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 1).astype(np.float32).reshape(-1, 1)
    columns = (
        Column("x", "float", lambda: x, shape=(WIDTH,)),
        Column("y", "float", lambda: y, shape=(1,)),
    )
    response = "y" if with_labels else None
    return InMemory(columns, response=response, batch_size=BATCH, epochs=1)


def seconds(perform: Callable[[], Any]) -> float:
    started = time.perf_counter()
    perform()
    return time.perf_counter() - started


def compare(name: str, perform: Callable[[list[Any]], Any]) -> None:
    perform([])
    turns = [[seconds(lambda: perform(each)) for each in ([Watch()], [])] for _ in range(TURNS)]  # noqa: B023
    ratios = sorted(watched / free for watched, free in turns)
    speeds = [ROWS / statistics.median(each) for each in zip(*turns, strict=True)]
    print(
        f"{name:32} hook {speeds[0]:9,.0f}  none {speeds[1]:9,.0f} rows/s  "
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
        train(model, SETTINGS, drawn(True), steps=1)
        for place, source in {"dataset": drawn, "memory": in_memory}.items():
            labelled, unlabelled = source(True), source(False)
            compare(
                f"{kind}, {place}: evaluate",
                lambda hooks: evaluate(model, SETTINGS, labelled, steps=10**6, hooks=hooks),  # noqa: B023
            )
            compare(
                f"{kind}, {place}: predict",
                lambda hooks: concatenate(predict(model, SETTINGS, unlabelled, hooks=hooks)),  # noqa: B023
            )
