"""Graphs that are freed after training."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
from support.inputs import in_memory
from support.models import line

from tfdistribute.descriptions import read
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

VALUES = np.arange(8, dtype="float32")


def graphs(tf: Any) -> set[int]:
    gc.collect()
    return {id(thing) for thing in gc.get_objects() if type(thing) is tf.Graph}


def test_a_second_training_keeps_no_graph_in_memory(tensorflow: Any, tmp_path: Path):
    settings = read(RunSettings, {})
    before = None
    for turn in ("first", "second"):
        data = in_memory({"x": VALUES, "y": VALUES}, batch_size=4)
        train(line(tmp_path / turn), settings, data)
        evaluate(line(tmp_path / turn), settings, data)
        found = graphs(tensorflow)
        before = before or found
    assert len(found) <= len(before)
