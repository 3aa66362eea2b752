"""The settings of a training's session: lookups of embeddings are as fast as their batch, and no number is rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

LEVELS, DIMENSION, ROWS = 5000, 8, 64


def identity(name: str) -> dict[str, Any]:
    return {"kind": "categorical_with_identity", "key": name, "num_buckets": LEVELS}


EMBEDDING = {"kind": "embedding", "categorical_column": identity("x"), "dimension": DIMENSION}
MODELS = {
    "embedding": {"kind": "dnn_regressor", "hidden_units": [2], "feature_columns": [EMBEDDING]},
    "sparse weights": {"kind": "linear_regressor", "feature_columns": [identity("x")]},
}


@pytest.mark.parametrize("model", MODELS)
def test_a_step_reads_the_rows_of_its_batch_and_not_all(
    tmp_path: Path, tensorflow: Any, model: str
):
    allocated: list[list[int]] = []

    class Trace(tensorflow.estimator.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            options = tensorflow.compat.v1.RunOptions(trace_level=3)
            return tensorflow.estimator.SessionRunArgs([], options=options)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            devices = run_values.run_metadata.step_stats.dev_stats
            nodes = [node for device in devices for node in device.node_stats]
            allocated.append([each.total_bytes for node in nodes for each in node.memory])

    data = in_memory({"x": np.arange(ROWS), "y": np.zeros(ROWS)}, batch_size=4)
    described = read(Model, {**MODELS[model], "model_dir": str(tmp_path)})
    settings = read(RunSettings, {"steps_per_run": 1})
    train(described, settings, data, steps=4, hooks=[Trace()])
    width = DIMENSION if model == "embedding" else 1
    # The first steps make the variables' own memory.
    assert all(0 < max(step) < LEVELS * width * 4 for step in allocated[2:])
    assert len(allocated) == 4


@pytest.mark.parametrize(
    ("dtype", "given", "expected"),
    [("float32", "DEFAULT", "OFF"), ("float16", "DEFAULT", "DEFAULT"), ("float32", "ON", "ON")],
)
def test_operations_are_joined_only_where_that_rounds_once_or_if_asked(
    tensorflow: Any, dtype: str, given: str, expected: str
):
    session_config = engine.session_config
    config = session_config.make({"graph_options": {"rewrite_options": {"remapping": given}}})
    with tensorflow.Graph().as_default() as graph:
        tensorflow.matmul(*[tensorflow.ones([2, 2], dtype)] * 2)
        session_config.prepare_training(config, graph)
    rewriting = config.graph_options.rewrite_options
    assert rewriting.remapping == type(rewriting).Toggle.Value(expected)


def test_values_may_be_repeated():
    limits = {"virtual_devices": [{"memory_limit_mb": [1024, 1024]}]}
    proto = engine.session_config.make({"gpu_options": {"experimental": limits}})
    (found,) = proto.gpu_options.experimental.virtual_devices
    assert list(found.memory_limit_mb) == [1024, 1024]
