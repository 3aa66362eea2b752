"""Clipping by optimizers: a table's row that several replicas have read is clipped once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import checkpoints, models, strategies
from support.checkpoints import assert_alike
from support.inputs import in_memory
from support.sampling import sampled

from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

ROWS, BATCH, RATE, LIMIT = 48, 12, 0.1, 0.2

random = np.random.default_rng(1)
# Few categories, so that all replicas read each of them.
SHOP = random.integers(0, 4, size=ROWS).astype("int32")
Y = (random.normal(size=ROWS) + 3).astype("float32")
IDENTITY = {"kind": "categorical_with_identity", "key": "shop", "num_buckets": 4}
EMBEDDING = {"kind": "embedding", "categorical_column": IDENTITY, "dimension": 2}
MODELS: dict[str, dict[str, Any]] = {
    "linear": {"kind": "linear_regressor", "feature_columns": [IDENTITY]},
    "embedding": {
        "kind": "dnn_regressor",
        "hidden_units": [3],
        "activation_fn": "tanh",
        "feature_columns": [EMBEDDING],
    },
}
SETTINGS = ("clipvalue", "clipnorm", "global_clipnorm")


def trained(
    model: str, setting: str, directory: Path, strategy: str = "none", name: str = "SGD"
) -> dict[str, Any]:
    optimizer = models.optimizer(name, learning_rate=RATE, **{setting: LIMIT})
    described = models.model(model_dir=directory, optimizer=optimizer, **MODELS[model])
    source = in_memory({"shop": SHOP, "y": Y}, batch_size=BATCH, epochs=1, shuffle=False)
    train(described, strategies.settings(strategy, seed=3, steps_per_run=1), source)
    return checkpoints.variables(directory)


def by_numpy(setting: str) -> tuple[np.ndarray[Any, Any], float]:
    """Return the weights of the categories and the bias after gradient descent with clipped gradients."""
    weights, bias = np.zeros(4), 0.0
    for begin in range(0, ROWS, BATCH):
        shop, y = SHOP[begin : begin + BATCH], Y[begin : begin + BATCH]
        errors = 2 * (weights[shop] + bias - y) / BATCH
        gradient = np.bincount(shop, errors, 4), np.array([errors.sum()])
        together = np.linalg.norm(np.concatenate(gradient))
        norms = [together if setting == "global_clipnorm" else np.linalg.norm(g) for g in gradient]
        if setting == "clipvalue":
            of_weights, of_bias = (np.clip(each, -LIMIT, LIMIT) for each in gradient)
        else:
            of_weights, of_bias = (
                each * min(1.0, LIMIT / norm) for each, norm in zip(gradient, norms, strict=True)
            )
        weights, bias = weights - RATE * of_weights, bias - RATE * float(of_bias[0])
    return weights, bias


CASES = [
    (model, setting, strategy)
    for model in MODELS
    for setting in SETTINGS
    for strategy in ("mirrored", "mirrored over 3")
]
CHECKED = [
    ("linear", "clipvalue", "mirrored"),
    ("embedding", "clipnorm", "mirrored over 3"),
    ("linear", "global_clipnorm", "mirrored"),
]


@sampled(("model", "setting", "strategy"), CASES, check=CHECKED, versions=CHECKED[:1])
def test_replicas_clip_as_one_device(tmp_path: Path, model: str, setting: str, strategy: str):
    expected = trained(model, setting, tmp_path / "one")
    assert_alike(trained(model, setting, tmp_path / "many", strategy), expected)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_numbers_are_those_of_numpy(tmp_path: Path, setting: str):
    weights, bias = by_numpy(setting)
    found = trained("linear", setting, tmp_path, "mirrored")
    np.testing.assert_allclose(found["linear/linear_model/shop/weights"][:, 0], weights, 1e-5)
    np.testing.assert_allclose(found["linear/linear_model/bias_weights"], [bias], 1e-5)


@pytest.mark.full
@pytest.mark.parametrize("name", ["Adam", "Adagrad", "RMSprop", "Adamax", "Nadam", "Ftrl"])
def test_every_optimizer_clips_as_on_one_device(tmp_path: Path, name: str):
    expected = trained("embedding", "clipnorm", tmp_path / "one", name=name)
    found = trained("embedding", "clipnorm", tmp_path / "many", "mirrored", name)
    assert_alike(found, expected)
