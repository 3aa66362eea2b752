"""One step with this package's Python module; prints the time at its end."""

from __future__ import annotations

import json
import tempfile
import time

import numpy as np

from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.canned.dnn import DNNClassifier
from tfdistribute.models.feature_columns.numeric import Numeric
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

X = np.random.default_rng(1).random((1024, 20), np.float32)
Y = (X[:, 0] > 0.5).astype(np.int64)
columns = (Column("x", "float", lambda: X, (20,)), Column("y", "integer", lambda: Y))
source = InMemory(columns, response="y")
with tempfile.TemporaryDirectory() as directory:
    column = Numeric("x", (20,))
    model = DNNClassifier(directory, hidden_units=(64, 32), feature_columns=(column,))
    train(model, RunSettings(), source, steps=1)
    print(json.dumps({"first_step_at": time.time()}))
