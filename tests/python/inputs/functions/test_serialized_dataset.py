"""Datasets of a session as inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistribute.errors import InputError
from tfdistribute.inputs.functions.serialized_dataset import (
    SerializedDataset,
    column_names,
    serialize,
)
from tfdistribute.models.canned.linear import LinearRegressor
from tfdistribute.models.feature_columns.numeric import Numeric
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import Mirrored
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_value

pytestmark = pytest.mark.usefixtures("logical_cpus")
ROWS = 22


def parsed(tf: Any, path: Path) -> Any:
    """A dataset as tfdatasets makes it of a text file, with a column that nobody uses."""
    lines = "".join(f"{x / 10},{'abc'[x % 3]},{2 * x / 10 + 1}\n" for x in range(ROWS))
    path.write_text(lines, encoding="utf-8")
    names, defaults = ("x", "s", "y"), [[0.0], [""], [0.0]]
    return (
        tf.data.TextLineDataset(str(path))
        .map(lambda line: dict(zip(names, tf.io.decode_csv(line, defaults), strict=True)))
        .batch(8)
    )


def of(dataset: Any) -> SerializedDataset:
    return SerializedDataset(serialize(dataset, ("x",), "y"), ("x",), "y")


def trained(source: SerializedDataset, directory: Path, devices: int) -> Any:
    model = LinearRegressor(str(directory), feature_columns=(Numeric("x"),))
    chosen = Mirrored(tuple(f"CPU:{index}" for index in range(devices))) if devices > 1 else None
    train(model, RunSettings(strategy=chosen, seed=1), source)
    assert evaluate(model, RunSettings(), source)["global_step"] == 3
    return variable_value(str(directory), "linear/linear_model/x/weights")


def test_one_device_and_two_learn_the_same_of_global_batches(tensorflow: Any, tmp_path: Path):
    source = of(parsed(tensorflow, tmp_path / "rows.csv"))
    one, two = (trained(source, tmp_path / str(devices), devices) for devices in (1, 2))
    assert one != 0
    np.testing.assert_allclose(one, two, rtol=1e-5)


def test_columns_have_the_names_of_the_elements(tensorflow: Any, tmp_path: Path):
    assert column_names(parsed(tensorflow, tmp_path / "rows.csv")) == ["x", "s", "y"]
    with pytest.raises(InputError, match="not named tensors"):
        column_names(tensorflow.data.Dataset.range(3))


def test_what_only_this_process_has_is_refused(tensorflow: Any):
    def rows() -> Any:
        yield {"x": [1.0], "y": [2.0]}

    signature = {name: tensorflow.TensorSpec((None,), tensorflow.float32) for name in ("x", "y")}
    generated = tensorflow.data.Dataset.from_generator(rows, output_signature=signature)
    with pytest.raises(InputError, match="PyFunc is stateful") as caught:
        of(generated)
    assert "input_dataset(function()" in str(caught.value.remedy)
    with tensorflow.Graph().as_default():
        made_in_graph = tensorflow.data.Dataset.from_tensors({"x": [1.0], "y": [2.0]})
        with pytest.raises(InputError, match="made in a graph"):
            of(made_in_graph)


def test_single_rows_and_sparse_columns_are_refused(tensorflow: Any):
    single = tensorflow.data.Dataset.from_tensors({"x": 1.0, "y": 2.0})
    with pytest.raises(InputError, match="`x` of the dataset is not a batch of dense tensors"):
        of(single)
    sparse = tensorflow.sparse.from_dense([[1.0, 0.0]])
    with pytest.raises(InputError, match="`y`"):
        of(tensorflow.data.Dataset.from_tensors({"x": [1.0], "y": sparse}))
