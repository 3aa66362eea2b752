"""One of two processes that train half a batch each without any exchange: the limit for two workers."""

from __future__ import annotations

import tempfile

from data import GLOBAL_BATCH, HIDDEN, WIDTH, X, Y
from way import examples_per_second, take_turns

from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.canned.dnn import DNNRegressor
from tfdistribute.models.feature_columns.numeric import Numeric
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

columns = (Column("x", "float", lambda: X, (WIDTH,)), Column("y", "float", lambda: Y))
source = InMemory(columns, response="y", batch_size=GLOBAL_BATCH // 2, epochs=None)


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        column = Numeric("x", (WIDTH,))
        model = DNNRegressor(directory, hidden_units=HIDDEN, feature_columns=(column,))
        history = train(model, RunSettings(), source, steps=steps)
    return examples_per_second(history, GLOBAL_BATCH // 2)


take_turns(measure, warm_up=5)
