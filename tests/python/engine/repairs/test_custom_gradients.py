"""Graphs that are freed after training."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
from support.inputs import in_memory
from support.models import line

from tfdistribute.descriptions import read
from tfdistribute.engine.inference.graph_cache import _MOST
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

VALUES = np.arange(8, dtype="float32")


def graphs(tf: Any) -> int:
    gc.collect()
    return sum(type(thing) is tf.Graph for thing in gc.get_objects())


def test_trainings_keep_no_graphs_in_memory_but_those_of_the_last_evaluations(
    tensorflow: Any, tmp_path: Path
):
    settings = read(RunSettings, {})
    found: list[int] = []
    for turn in range(_MOST + 2):
        data = in_memory({"x": VALUES, "y": VALUES}, batch_size=4)
        train(line(tmp_path / str(turn)), settings, data)
        evaluate(line(tmp_path / str(turn)), settings, data)
        found.append(graphs(tensorflow))
    assert found[-1] <= found[-2]
