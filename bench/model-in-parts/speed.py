"""Examples per second of a model in two stages: ``speed.py one``, ``placed``, ``pipeline`` or ``pipeline-8``."""

from __future__ import annotations

import sys
import tempfile

from stages import BATCH, SOURCE, model, settings
from way import take_turns

from tfdistribute.training.train import train

WAY = sys.argv[1]


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        history = train(model(WAY, directory), settings(WAY), SOURCE, steps=steps)
    first = next(at for at, step in enumerate(history.steps) if step > steps / 10)
    seconds = history.seconds[-1] - history.seconds[first]
    return (history.steps[-1] - history.steps[first]) * BATCH / seconds


take_turns(measure)
