"""TensorFlow's own DNNClassifier with its defaults, but no checkpoints: ``estimator.py wide|columns``."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import tensorflow as tf
from data import BATCH, COLUMNS, HIDDEN, WIDTH, X, Y
from estimator_turns import WITHOUT_CHECKPOINTS, Turns
from way import take_turns

wide = sys.argv[1] == "wide"
features = {"x": X} if wide else {name: X[:, index] for index, name in enumerate(COLUMNS)}
numeric = tf.feature_column.numeric_column
columns = [numeric("x", WIDTH)] if wide else [numeric(name) for name in COLUMNS]


def input_fn() -> Any:
    rows = tf.data.Dataset.from_tensor_slices((features, Y))
    return rows.shuffle(10_000).repeat().batch(BATCH).prefetch(2)


def train(turns: Turns) -> None:
    with tempfile.TemporaryDirectory() as directory:
        model = tf.estimator.DNNClassifier(HIDDEN, columns, directory, config=WITHOUT_CHECKPOINTS)
        model.train(input_fn, hooks=[turns])


turns = Turns(train)
take_turns(lambda steps: steps * BATCH / turns.seconds_of(steps), warm_up=1)
