"""Four layers of 768 units in two stages, one thread per device."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfdistribute
from tfdistribute import engine
from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.custom import Custom
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import ModelParallel, OneDevice

UNITS, BATCH, ROWS = 768, 512, 2048
# Devices and micro-batches.
WAYS = {"one": (1, 1), "placed": (2, 1), "pipeline": (2, 4), "pipeline-8": (2, 8)}

_random = np.random.default_rng(1)
_X = _random.normal(size=(ROWS, UNITS)).astype("float32")
_Y = _random.normal(size=ROWS).astype("float32")
SOURCE = InMemory(
    (Column("x", "float", lambda: _X, (UNITS,)), Column("y", "float", lambda: _Y)),
    response="y",
    batch_size=BATCH,
    epochs=None,
)


def settings(way: str) -> RunSettings:
    """Make the run configuration of a way."""
    devices = WAYS[way][0]
    threads = {"intra_op_parallelism_threads": 1, "inter_op_parallelism_threads": devices}
    strategy = OneDevice("CPU:0") if devices == 1 else ModelParallel(devices)
    return RunSettings(strategy=strategy, session_config=threads)


def model(way: str, directory: str) -> Custom:
    """Make the model of a way."""
    return Custom(directory, _model_fn(WAYS[way][1]))


def _model_fn(micro_batches: int) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        del mode
        tf = engine.tf

        def stage(x: Any) -> Any:
            for _ in range(2):
                x = tf.compat.v1.layers.dense(x, UNITS, tf.nn.relu)
            return x

        def last(x: Any) -> Any:
            return tf.compat.v1.layers.dense(stage(x), 1)

        output = tfdistribute.pipeline(features["x"], [stage, last], micro_batches)
        loss = tf.reduce_mean(tf.square(output[:, 0] - labels))
        return {"loss": loss, "optimizer": "sgd"}

    return model_fn
