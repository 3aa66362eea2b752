"""TensorFlow's own Estimators with all defaults: ``estimator.py KIND`` (see ``table.py``)."""

from __future__ import annotations

import tempfile
from typing import Any

import tensorflow as tf
from estimator_turns import Turns
from table import BATCH, BUCKETS, DIMENSION, FEATURES, HIDDEN, KIND, LEVELS, NAMES, Y
from way import take_turns

column = tf.feature_column


def model(directory: str) -> Any:
    crossed = column.crossed_column(
        [column.categorical_column_with_identity(name, 2000) for name in "ab"], BUCKETS
    )
    level = column.categorical_column_with_identity("level", LEVELS)
    embedded = column.embedding_column(level, DIMENSION)
    numbers = [column.numeric_column(name) for name in NAMES]
    if KIND == "crosses":
        return tf.estimator.LinearClassifier([crossed], model_dir=directory)
    if KIND == "hashed":
        word = column.categorical_column_with_hash_bucket("word", LEVELS)
        return tf.estimator.LinearClassifier([word], model_dir=directory)
    if KIND == "wide-and-deep":
        return tf.estimator.DNNLinearCombinedClassifier(
            directory, [crossed], dnn_feature_columns=[embedded, *numbers], dnn_hidden_units=HIDDEN
        )
    columns = [embedded] if KIND == "embedding" else numbers
    return tf.estimator.DNNClassifier(HIDDEN, columns, model_dir=directory)


def batches() -> Any:
    rows = tf.data.Dataset.from_tensor_slices((FEATURES, Y))
    return rows.shuffle(10_000).repeat().batch(BATCH).prefetch(2)


def train(turns: Turns) -> None:
    with tempfile.TemporaryDirectory() as directory:
        model(directory).train(batches, hooks=[turns])


turns = Turns(train)
take_turns(lambda steps: steps * BATCH / turns.seconds_of(steps), warm_up=1)
