"""TensorFlow's own Estimators with their defaults, but no checkpoints: ``estimator.py KIND`` (see ``table.py``)."""

from __future__ import annotations

import tempfile
from typing import Any

import tensorflow as tf
from estimator_turns import WITHOUT_CHECKPOINTS, Turns
from table import BATCH, BUCKETS, DIMENSION, FEATURES, HIDDEN, KIND, LEVELS, NAMES, Y
from way import take_turns

column = tf.feature_column


def model(directory: str) -> Any:
    where: Any = {"model_dir": directory, "config": WITHOUT_CHECKPOINTS}
    crossed = column.crossed_column(
        [column.categorical_column_with_identity(name, 2000) for name in "ab"], BUCKETS
    )
    level = column.categorical_column_with_identity("level", LEVELS)
    embedded = column.embedding_column(level, DIMENSION)
    numbers = [column.numeric_column(name) for name in NAMES]
    if KIND == "crosses":
        return tf.estimator.LinearClassifier([crossed], **where)
    if KIND == "hashed":
        word = column.categorical_column_with_hash_bucket("word", LEVELS)
        return tf.estimator.LinearClassifier([word], **where)
    if KIND == "wide-and-deep":
        return tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=[crossed],
            dnn_feature_columns=[embedded, *numbers],
            dnn_hidden_units=HIDDEN,
            **where,
        )
    columns = [embedded] if KIND == "embedding" else numbers
    return tf.estimator.DNNClassifier(HIDDEN, columns, **where)


def batches() -> Any:
    rows = tf.data.Dataset.from_tensor_slices((FEATURES, Y))
    return rows.shuffle(10_000).repeat().batch(BATCH).prefetch(2)


def train(turns: Turns) -> None:
    with tempfile.TemporaryDirectory() as directory:
        model(directory).train(batches, hooks=[turns])


turns = Turns(train)
take_turns(lambda steps: steps * BATCH / turns.seconds_of(steps), warm_up=1)
