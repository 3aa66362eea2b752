"""Peak memory in MB of training three layers of 768 on batches of 32,768: ``memory.py MICRO_BATCHES``."""

from __future__ import annotations

import resource
import sys
import tempfile

import numpy as np
from layers import model_fn
from way import take_turns

from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.custom import Custom
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

BATCH, FEATURES = 32768, 32
X = np.random.default_rng(1).random((BATCH, FEATURES), np.float32)
SOURCE = InMemory(
    (Column("x", "float", lambda: X, (FEATURES,)), Column("y", "float", lambda: X[:, 0])),
    response="y",
    batch_size=BATCH,
    epochs=None,
)


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        settings = RunSettings(micro_batches=int(sys.argv[1]))
        train(Custom(directory, model_fn), settings, SOURCE, steps=steps)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


take_turns(measure)
