"""One step of TensorFlow's own DNNClassifier; prints the time at its end."""

from __future__ import annotations

import json
import tempfile
import time

import numpy as np
import tensorflow as tf

X = np.random.default_rng(1).random((1024, 20), np.float32)
Y = (X[:, 0] > 0.5).astype(np.int64)


def input_fn() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(128)


with tempfile.TemporaryDirectory() as directory:
    columns = [tf.feature_column.numeric_column("x", 20)]
    tf.estimator.DNNClassifier((64, 32), columns, model_dir=directory).train(input_fn, steps=1)
    print(json.dumps({"first_step_at": time.time()}))
