"""Hooks, and the training of a line that uses them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from support import inputs, models, strategies
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.training.history import History
from tfdistribute.training.hooks import Hook
from tfdistribute.training.train import train

X = np.random.default_rng(3).normal(size=32).astype("float32")
Y = 2 * X


def hook(kind: str, **fields: Any) -> Hook:
    return read(Hook, {"kind": kind, **fields})


def source(epochs: int | None = None, values: np.ndarray = Y) -> Input:
    fields = {"batch_size": 8, "shuffle": False, "epochs": epochs}
    return inputs.in_memory({"x": X, "y": values}, **fields)


def model(directory: Path, learning_rate: float = 0.1) -> Model:
    return models.line(directory, optimizer=models.sgd(learning_rate))


def trained(
    directory: Path,
    hooks: Sequence[Any],
    strategy: str = "none",
    steps: int | None = 12,
    learning_rate: float = 0.1,
    **fields: Any,
) -> History:
    """Train with hooks; fields are run settings."""
    settings = strategies.settings(strategy, **fields)
    return train(model(directory, learning_rate), settings, source(), steps=steps, hooks=hooks)
