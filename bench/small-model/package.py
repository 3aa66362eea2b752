"""This package's Python module, with its defaults: ``package.py KIND [STEPS-PER-INTERVAL]``.

The kinds are wide, columns, dropout, keras, file and file-unmeasured, which does not measure how long steps wait for
their input.
"""

from __future__ import annotations

import importlib
import sys
import tempfile

import numpy as np
from data import BATCH, COLUMNS, HIDDEN, WIDTH, X, Y
from keras_model import built
from way import Intervals, examples_per_second, take_turns

from tfdistribute import engine
from tfdistribute.inputs import Arrow, Column, InMemory, Input
from tfdistribute.models import KerasModel, Model
from tfdistribute.models.canned.dnn import DNNClassifier
from tfdistribute.models.feature_columns.numeric import Numeric
from tfdistribute.run_config import RunSettings
from tfdistribute.storage.buckets import arrow_module
from tfdistribute.training.train import train

kind = sys.argv[1]
if kind == "columns":
    features = [
        Column(name, "float", lambda index=index: np.ascontiguousarray(X[:, index]))
        for index, name in enumerate(COLUMNS)
    ]
    columns = tuple(Numeric(name) for name in COLUMNS)
else:
    features = [Column("x", "float", lambda: X, (WIDTH,))]
    columns = (Numeric("x", (WIDTH,)),)
folder = tempfile.TemporaryDirectory()


def described_rows() -> Input:
    rows = {"response": "y", "batch_size": BATCH, "epochs": None}
    if not kind.startswith("file"):
        return InMemory((*features, Column("y", "integer", lambda: Y)), **rows)
    pyarrow, ipc, path = arrow_module("pyarrow"), arrow_module("pyarrow.ipc"), f"{folder.name}/rows"
    x = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.reshape(-1)), WIDTH)
    table = pyarrow.table({"x": x, "y": Y})
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=2**14)
    return Arrow((path,), **rows)


source = described_rows()
if kind == "file-unmeasured":
    engine.hooks.input_wait.measured = lambda spec, batch: spec


def described(directory: str) -> Model:
    if kind == "keras":
        # With TensorFlow 2.16 or newer, Keras 3.
        return KerasModel(directory, function=lambda: built(importlib.import_module("keras")))
    dropout = 0.1 if kind == "dropout" else None
    return DNNClassifier(directory, hidden_units=HIDDEN, feature_columns=columns, dropout=dropout)


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        history = train(described(directory), RunSettings(), source, steps=steps)
    return examples_per_second(history, BATCH)


if len(sys.argv) > 2:
    interval = int(sys.argv[2])
    turns = Intervals(interval, BATCH, warm_up=1)
    hook = engine.hooks.CallFunctions(
        {"after_run": turns.after_interval}, lambda: None, every_n_steps=interval
    )
    with tempfile.TemporaryDirectory() as directory:
        train(described(directory), RunSettings(), source, steps=None, hooks=[hook])
else:
    take_turns(measure, warm_up=500)
