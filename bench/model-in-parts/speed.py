"""Examples per second of a model in two stages: ``speed.py one``, ``placed``, ``pipeline`` or ``pipeline-8``."""

from __future__ import annotations

import sys
import tempfile

from stages import BATCH, SOURCE, model, settings
from way import examples_per_second, take_turns

from tfdistribute.training.train import train

WAY = sys.argv[1]


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        history = train(model(WAY, directory), settings(WAY), SOURCE, steps=steps)
    return examples_per_second(history, BATCH)


take_turns(measure, warm_up=10)
