"""R functions in canned models: called on R's thread, with the right values, under every strategy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models
from support.callbacks import as_callback
from support.checkpoints import variables
from support.inputs import in_memory
from support.sampling import sampled
from support.strategies import KINDS, settings

tf = pytest.importorskip("tensorflow")

from tfdistribute.errors import CallbackError
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

X = np.random.default_rng(3).normal(size=32).astype("float32")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "activation_fn": lambda x: tf.nn.tanh(x),
    "optimizer": lambda: tf.keras.optimizers.legacy.SGD(0.05),
    "normalizer_fn": lambda x: x / 2,
}
NAMES: dict[str, Any] = {
    "activation_fn": "tanh",
    "optimizer": models.sgd(0.05),
    "normalizer_fn": FUNCTIONS["normalizer_fn"],
}


def trained(parts: dict[str, Any], strategy: str, directory: Path) -> dict[str, Any]:
    optimizer = parts["optimizer"]
    column = {"kind": "numeric", "key": "x", "normalizer_fn": parts["normalizer_fn"]}
    model = models.model(
        "dnn_regressor",
        directory,
        hidden_units=[4, 2],
        feature_columns=[column],
        activation_fn=parts["activation_fn"],
        optimizer={"kind": "function", "function": optimizer} if "call" in optimizer else optimizer,
    )
    data = in_memory({"x": X, "y": 2 * X}, batch_size=8, epochs=1, shuffle=False)
    train(model, settings(strategy, seed=3), data)
    return variables(directory)


@sampled("strategy", KINDS, check=["mirrored"])
def test_functions_do_what_the_names_do_on_the_calling_thread(tmp_path: Path, strategy: str):
    threads: list[int] = []

    def noted(function: Callable[..., Any]) -> dict[str, Any]:
        def call(*args: Any) -> Any:
            threads.append(threading.get_ident())
            return function(*args)

        return as_callback(call)

    functions = {part: noted(function) for part, function in FUNCTIONS.items()}
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

    with pytest.raises(CallbackError, match=r" failed: no luck \{today\}$"):
        trained({**NAMES, part: as_callback(failing)}, strategy, tmp_path)
