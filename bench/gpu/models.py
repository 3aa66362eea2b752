"""Three models for a GPU, and their rows: ``small``, ``layers`` and ``convolution``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kind:
    """A model, its batch and its rows.

    Args:
        width: Numbers of a row.
        batch_size: Rows of a step.
        rows: Rows in memory.
        classes: Values of the label.
        network: Function of (rows of a batch, layers): the logits. ``layers`` makes its layers, of
            TensorFlow 1 or of Keras.
    """

    width: int
    batch_size: int
    rows: int
    classes: int
    network: Callable[[Any, Any], Any]


def _small(x: Any, layers: Any) -> Any:
    return layers.dense(layers.dense(layers.dense(x, 64), 32), 2, None)


def _layers(x: Any, layers: Any) -> Any:
    for _ in range(4):
        x = layers.dense(x, 4096)
    return layers.dense(x, 2, None)


def _convolution(x: Any, layers: Any) -> Any:
    x = layers.image(x, (28, 28, 1))
    for filters in (32, 64):
        x = layers.pool(layers.convolution(x, filters))
    return layers.dense(layers.dense(layers.flat(x), 128), 10, None)


KINDS = {
    "small": Kind(20, 128, 200_000, 2, _small),
    "layers": Kind(512, 1024, 100_000, 2, _layers),
    "convolution": Kind(784, 256, 60_000, 10, _convolution),
}


def rows_of(kind: Kind) -> tuple[Any, Any]:
    """Return random rows, and labels that depend on them."""
    x = np.random.default_rng(1).random((kind.rows, kind.width), np.float32)
    return x, (x[:, 0] * kind.classes).astype(np.int64)
