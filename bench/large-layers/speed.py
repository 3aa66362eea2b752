"""Examples per second of three large layers on one thread: ``speed.py PRECISION MICRO_BATCHES``."""

from __future__ import annotations

import sys
import tempfile

import numpy as np
from layers import UNITS, model_fn
from way import examples_per_second, take_turns

from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.custom import Custom
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

BATCH, ROWS = 512, 2048
PRECISION, MICRO_BATCHES = sys.argv[1], int(sys.argv[2])

_random = np.random.default_rng(1)
_X = _random.normal(size=(ROWS, UNITS)).astype("float32")
_Y = _random.normal(size=ROWS).astype("float32")
SOURCE = InMemory(
    (Column("x", "float", lambda: _X, (UNITS,)), Column("y", "float", lambda: _Y)),
    response="y",
    batch_size=BATCH,
    epochs=None,
)
SETTINGS = RunSettings(
    precision=PRECISION,
    micro_batches=MICRO_BATCHES,
    session_config={"intra_op_parallelism_threads": 1, "inter_op_parallelism_threads": 1},
)


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        history = train(Custom(directory, model_fn), SETTINGS, SOURCE, steps=steps)
    return examples_per_second(history, BATCH)


take_turns(measure, warm_up=10)
