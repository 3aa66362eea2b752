"""Examples per second of three large layers on one thread: ``speed.py PRECISION MICRO_BATCHES``."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import numpy as np
from way import examples_per_second, take_turns

from tfdistribute import engine
from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.custom import Custom
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

UNITS, BATCH, ROWS = 768, 512, 2048
PRECISION, MICRO_BATCHES = sys.argv[1], int(sys.argv[2])

_random = np.random.default_rng(1)
_X = _random.normal(size=(ROWS, UNITS)).astype("float32")
_Y = _random.normal(size=ROWS).astype("float32")
SOURCE = InMemory(
    (Column("x", "float", lambda: _X, (UNITS,)), Column("y", "float", lambda: _Y)),
    response="y",
    batch_size=BATCH,
    num_epochs=None,
)
SETTINGS = RunSettings(
    precision=PRECISION,
    micro_batches=MICRO_BATCHES,
    session_config={"intra_op_parallelism_threads": 1, "inter_op_parallelism_threads": 1},
)


def model_fn(features: Any, labels: Any, mode: str) -> dict[str, Any]:
    """Make three layers of 768 units, and one of a single unit."""
    del mode
    tf = engine.tf
    x = features["x"]
    for _ in range(3):
        x = tf.compat.v1.layers.dense(x, UNITS, tf.nn.relu)
    output = tf.compat.v1.layers.dense(x, 1)
    return {"loss": tf.reduce_mean(tf.square(output[:, 0] - labels)), "optimizer": "sgd"}


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        history = train(Custom(directory, model_fn), SETTINGS, SOURCE, steps=steps)
    return examples_per_second(history, BATCH)


take_turns(measure, warm_up=10)
