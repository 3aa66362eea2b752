"""R functions in canned models: called on R's thread, with the right values, under every strategy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

tf = pytest.importorskip("tensorflow")

from tfdistribute.descriptions import read
from tfdistribute.errors import CallbackError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

X = np.random.default_rng(3).normal(size=32).astype("float32")
STRATEGIES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "one device": {"kind": "one_device", "device": "CPU:0"},
    "mirrored": {"kind": "mirrored", "devices": 2},
    "central storage": {"kind": "central_storage", "devices": 2},
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "activation_fn": lambda x: tf.nn.tanh(x),
    "optimizer": lambda: tf.keras.optimizers.legacy.SGD(0.05),
    "normalizer_fn": lambda x: x / 2,
}
NAMES: dict[str, Any] = {
    "activation_fn": "tanh",
    "optimizer": {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.05}},
    "normalizer_fn": FUNCTIONS["normalizer_fn"],
}


def as_callback(function: Callable[..., Any], threads: list[int]) -> dict[str, Any]:
    """Wrap a function as R passes it."""

    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        threads.append(threading.get_ident())
        try:
            return {"value": function(*args, **kwargs)}
        except ValueError as error:
            return {"error": str(error)}

    return {"call": call, "formals": ["x"]}


def trained(parts: dict[str, Any], strategy: str, directory: Path) -> dict[str, Any]:
    optimizer = parts["optimizer"]
    model = {
        "kind": "dnn_regressor",
        "model_dir": str(directory),
        "hidden_units": [4, 2],
        "feature_columns": [
            {"kind": "numeric", "key": "x", "normalizer_fn": parts["normalizer_fn"]}
        ],
        "activation_fn": parts["activation_fn"],
        "optimizer": {"kind": "function", "function": optimizer}
        if "call" in optimizer
        else optimizer,
    }
    data = {
        "kind": "in_memory",
        "columns": [
            {"name": "x", "type": "float", "values": lambda: X},
            {"name": "y", "type": "float", "values": lambda: 2 * X},
        ],
        "response": "y",
        "batch_size": 8,
        "num_epochs": 1,
        "shuffle": False,
    }
    settings = {"train_distribute": STRATEGIES[strategy], "tf_random_seed": 3}
    train(read(Model, model), read(RunSettings, settings), read(Input, data))
    checkpoint = tf.train.latest_checkpoint(str(directory))
    names = [name for name, _ in tf.train.list_variables(checkpoint)]
    return {name: tf.train.load_variable(checkpoint, name) for name in names}


@sampled("strategy", STRATEGIES, check=["mirrored"])
def test_functions_do_what_the_names_do_on_the_calling_thread(tmp_path: Path, strategy: str):
    threads: list[int] = []
    functions = {part: as_callback(function, threads) for part, function in FUNCTIONS.items()}
    values = trained(functions, strategy, tmp_path / "functions")
    expected = trained(NAMES, strategy, tmp_path / "names")
    assert set(threads) == {threading.get_ident()}
    assert set(expected) <= set(values)
    for name, value in expected.items():
        np.testing.assert_array_equal(values[name], value, err_msg=name, strict=True)


@pytest.mark.parametrize("strategy", ["none", "mirrored"])
@pytest.mark.parametrize("part", FUNCTIONS)
def test_the_error_of_a_function_comes_out_as_it_is(tmp_path: Path, part: str, strategy: str):
    def failing(*_: Any) -> Any:
        raise ValueError("no luck {today}")

    with pytest.raises(CallbackError, match=r"^no luck \{today\}"):
        trained({**NAMES, part: as_callback(failing, [])}, strategy, tmp_path)
