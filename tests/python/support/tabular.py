"""A small table with a number that is sometimes missing and a category, and tabular models of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from support.inputs import Factor, in_memory
from support.models import model
from tfdistribute.inputs import Input
from tfdistribute.models.canned.table import Table
from tfdistribute.run_config import RunSettings
from tfdistribute.storage.buckets import arrow_module
from tfdistribute.training import concatenate, predict
from tfdistribute.training.model_directory import ModelDirectory

ROWS = 200
RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=ROWS).astype("float32")
Z = RANDOM.normal(size=ROWS).astype("float32")
Z[::9] = np.nan
CITY = RANDOM.integers(0, 12, size=ROWS)
CITIES = [f"city {each}" for each in range(12)]
PRICE = (200_000 + 30_000 * X + 5_000 * CITY + 20_000 * np.isnan(Z)).astype("float32")
SEED = RunSettings(seed=3)
SMALL: dict[str, Any] = {"hidden_units": [16, 16], "batch_size": 64}


def rows(response: Any = PRICE, **columns: Any) -> Input:
    data = {"x": X, "z": Z, "city": Factor(CITY, CITIES), "y": response, **columns}
    return in_memory({name: each for name, each in data.items() if each is not None})


def regressor(directory: Path, **fields: Any) -> Any:
    return model("tabular_regressor", directory, **{**SMALL, **fields})


def prices(described: Any, source: Input | None = None) -> Any:
    found = predict(described, RunSettings(), source or rows())
    return concatenate(found)["predictions"][:, 0]


def learned(directory: Path) -> Table:
    found = model("tabular_regressor", directory).complete_from_signature(
        ModelDirectory(str(directory)).structure
    )
    assert found.table is not None
    return found.table


def write_table(table: Any, kind: str, directory: Path, name: str = "rows") -> str:
    """Write a table of Arrow, with strings as codes of a dictionary into a file of kind "arrow"."""
    path = str(directory / f"{name}.{kind}")
    if kind == "csv":
        arrow_module("pyarrow.csv").write_csv(table, path)
    elif kind == "parquet":
        arrow_module("pyarrow.parquet").write_table(table, path)
    else:
        types = arrow_module("pyarrow").types
        for place, column in enumerate(table.columns):
            if types.is_string(column.type):
                name = table.column_names[place]
                table = table.set_column(place, name, column.dictionary_encode())
        with arrow_module("pyarrow.ipc").new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def judged(training: Any) -> list[int]:
    """Judge a model where its training would, by its predictions, and return the steps until the end."""
    (judgment,) = training.train.hooks
    done: list[int] = []
    for step in judgment.ends:
        done.append(step)
        if judgment.judge(None, training.model.model_dir):
            break
    return done


def stop_at(tensorflow: Any, step: int) -> Any:
    class Stop(tensorflow.estimator.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            return tensorflow.estimator.SessionRunArgs(tensorflow.compat.v1.train.get_global_step())

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if run_values.results >= step - 1:
                run_context.request_stop()

    return Stop()
