"""TensorFlow's Estimator, one ``session.run`` a step: ``estimator.py KIND``."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

from models import KINDS, rows_of
from tensorflow_1 import loss_of, tf
from way import take_turns

from estimator_turns import WITHOUT_CHECKPOINTS, Turns  # isort: skip - it uses TensorFlow's Estimators

KIND = KINDS[sys.argv[1]]


def input_fn() -> Any:
    x, y = rows_of(KIND)
    rows = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
    return rows.shuffle(10_000).repeat().batch(KIND.batch_size).prefetch(4)


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    loss = loss_of(KIND, features, labels)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.01)
    step = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def train(turns: Turns) -> None:
    with tempfile.TemporaryDirectory() as directory:
        estimator = tf.estimator.Estimator(model_fn, directory, WITHOUT_CHECKPOINTS)
        estimator.train(input_fn, hooks=[turns])


turns = Turns(train)
take_turns(lambda steps: steps * KIND.batch_size / turns.seconds_of(steps), warm_up=1)
