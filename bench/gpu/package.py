"""This package: ``package.py KIND gpu|cpu|file|float16`` (kinds are in ``models.py``)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from models import KINDS, rows_of
from pyarrow import parquet
from tensorflow_1 import loss_of
from way import examples_per_second, take_turns

from tfdistribute.descriptions import read
from tfdistribute.inputs import Column, InMemory, Input
from tfdistribute.models.custom import Custom
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies.one_device import OneDevice
from tfdistribute.training.train import train

KIND, HOW = KINDS[sys.argv[1]], sys.argv[2]
FOLDER = tempfile.TemporaryDirectory()
SETTINGS: dict[str, dict[str, Any]] = {
    "cpu": {"strategy": OneDevice("CPU:0"), "session_config": {"device_count": {"GPU": 0}}},
    "float16": {"precision": "mixed_float16"},
}


def model_fn(features: Any, labels: Any, mode: str) -> dict[str, Any]:
    """Make the model."""
    del mode
    return {"loss": loss_of(KIND, features, labels), "optimizer": "sgd"}


def source() -> Input:
    """Describe the rows, in memory or in a file."""
    x, y = rows_of(KIND)
    fields: dict[str, Any] = {"response": "y", "batch_size": KIND.batch_size, "epochs": None}
    if HOW != "file":
        return InMemory(
            (Column("x", "float", lambda: x, (KIND.width,)), Column("y", "integer", lambda: y)),
            **fields,
        )
    path = Path(FOLDER.name, "rows.parquet")
    column = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), KIND.width)
    parquet.write_table(pa.table({"x": column, "y": y}), path, row_group_size=4096)
    return read(Input, {"kind": "parquet", "paths": [str(path)], **fields})


SOURCE = source()


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        settings = RunSettings(**SETTINGS.get(HOW, {}))
        history = train(Custom(directory, model_fn), settings, SOURCE, steps=steps)
    return examples_per_second(history, KIND.batch_size)


take_turns(measure, warm_up=20)
