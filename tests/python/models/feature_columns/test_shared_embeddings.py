"""Embedding columns that share their vectors, compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.canned_models import NUMBER, SGD, model
from support.checkpoints import variables
from support.inputs import Factor, in_memory
from support.models import model as other_model
from support.strategies import settings

from tfdistribute.errors import ModelError, UnsupportedError
from tfdistribute.models.description import TrainedFeatures
from tfdistribute.training import concatenate, predict
from tfdistribute.training.train import train

CITIES = ["x", "y", "z"]
ROWS, BATCH, STEPS, RATE = 24, 6, 8, 0.1
generator = np.random.default_rng(2)
FROM, TO = generator.integers(0, 3, (2, ROWS))
PRICE = (FROM - 0.5 * TO + generator.normal(size=ROWS)).astype("float32")


def source() -> Any:
    columns = {"from": Factor(FROM, CITIES), "to": Factor(TO, CITIES), "y": PRICE}
    return in_memory(columns, batch_size=BATCH, epochs=None, shuffle=False)


def vectors(key: str, **fields: Any) -> dict[str, Any]:
    kind = "categorical_with_vocabulary_list"
    city = {"kind": kind, "key": key, "vocabulary_list": CITIES, **fields.pop("city", {})}
    initializer = {"kind": "named", "name": "constant", "settings": {"value": 0.5}}
    return {
        "kind": "embedding",
        "categorical_column": city,
        "dimension": 2,
        "initializer": initializer,
        "shared": "city",
        **fields,
    }


def by_numpy() -> tuple[Any, Any]:
    """Return the vectors, and the weights of both columns, after some steps of gradient descent."""
    table, weights, bias = np.full((3, 2), 0.5), np.zeros((2, 2)), 0.0
    for step in range(STEPS):
        rows = np.arange(step * BATCH, (step + 1) * BATCH) % ROWS
        read = np.stack([table[FROM[rows]], table[TO[rows]]], 1)
        errors = (np.einsum("rcd,cd->r", read, weights) + bias - PRICE[rows]) * 2 / BATCH
        change = np.zeros_like(table)
        for column, ids in enumerate((FROM[rows], TO[rows])):
            np.add.at(change, ids, errors[:, None] * weights[column])
        weights = weights - RATE * np.einsum("r,rcd->cd", errors, read)
        table, bias = table - RATE * change, bias - RATE * errors.sum()
    return table, weights


@pytest.mark.versions
@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_columns_that_share_vectors_train_one_table(tensorflow: Any, tmp_path: Path, strategy: str):
    del tensorflow
    sgd = {**SGD, "settings": {"learning_rate": RATE}}
    columns = [vectors("from"), vectors("to")]
    line = other_model("linear_regressor", tmp_path, feature_columns=columns, optimizer=sgd)
    train(line, settings(strategy), source(), steps=STEPS)
    found = variables(tmp_path)
    (table,) = (value for name, value in found.items() if name.endswith("embedding_weights"))
    weights = [found[f"linear/linear_model/{key}_embedding/weights"] for key in ("from", "to")]
    expected_table, expected_weights = by_numpy()
    np.testing.assert_allclose(table, expected_table, rtol=2e-6)
    np.testing.assert_allclose(np.hstack(weights).T, expected_weights, rtol=2e-5)


def test_a_deep_model_with_shared_vectors_trains_and_predicts(tensorflow: Any, tmp_path: Path):
    del tensorflow
    columns = [NUMBER | {"key": "n"}, vectors("to", max_norm=1), vectors("from", max_norm=1)]
    deep = model("dnn_regressor", tmp_path, feature_columns=columns, hidden_units=[4])
    numbers = np.arange(2.0)
    cities = {"from": Factor([0, 1], CITIES), "to": Factor([1, 0], CITIES)}
    data = in_memory({**cities, "n": numbers, "y": numbers}, batch_size=2)
    train(deep, settings(), data, steps=2)
    tables = [name for name in variables(tmp_path) if name.endswith("embedding_weights")]
    assert tables == ["dnn/input_from_feature_columns/input_layer/from_embedding/embedding_weights"]
    assert concatenate(predict(deep, settings(), data))["predictions"].shape == (2, 1)
    with pytest.raises(UnsupportedError, match="from_embedding .*shares its vectors"):
        deep.keras_program(TrainedFeatures(None, {}, {}))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"dimension": 3}, "dimension"),
        ({"initializer": None}, "initializer"),
        ({"city": {"vocabulary_list": ["x", "z", "y"]}}, "vocabulary_list"),
        ({"city": {"num_oov_buckets": 1}}, "num_oov_buckets"),
    ],
)
def test_columns_that_share_vectors_have_the_same_arguments(fields: Any, field: str):
    columns = [vectors("from"), vectors("to", **fields)]
    with pytest.raises(ModelError, match=f'share the vectors "city", but not the same `{field}`'):
        model("dnn_regressor", feature_columns=columns)


@pytest.mark.parametrize("strategy", ["none", "mirrored"])
@pytest.mark.parametrize("version", [1, 2])
def test_tensorflows_shared_embeddings_work_in_a_model_function(
    tensorflow: Any, tmp_path: Path, version: int, strategy: str
):
    tf = tensorflow
    columns_lib = tf.compat.v1.feature_column if version == 1 else tf.feature_column
    initializer = tf.constant_initializer(0.5)

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        cities = [
            columns_lib.categorical_column_with_vocabulary_list(key, CITIES)
            for key in ("from", "to")
        ]
        if version == 1:
            columns = columns_lib.shared_embedding_columns(cities, 2, initializer=initializer)
            read = columns_lib.input_layer(features, columns)
        else:
            columns = columns_lib.shared_embeddings(cities, 2, initializer=initializer)
            read = tf.compat.v1.keras.layers.DenseFeatures(columns)(features)
        zeros = tf.compat.v1.zeros_initializer()
        weights = tf.compat.v1.get_variable("weights", [4, 1], initializer=zeros)
        bias = tf.compat.v1.get_variable("bias", [1], initializer=zeros)
        output = (read @ weights + bias)[:, 0]
        loss = None if labels is None else tf.reduce_mean((tf.reshape(labels, [-1]) - output) ** 2)
        optimizer = {"kind": "named", "name": "sgd", "settings": {"learning_rate": RATE}}
        return {"predictions": {"y": output}, "loss": loss, "optimizer": optimizer}

    train(
        other_model("custom", tmp_path, model_fn=model_fn),
        settings(strategy),
        source(),
        steps=STEPS,
    )
    found = variables(tmp_path)
    (table,) = (value for value in found.values() if np.shape(value) == (3, 2))
    expected_table, expected_weights = by_numpy()
    np.testing.assert_allclose(table, expected_table, rtol=2e-6)
    np.testing.assert_allclose(found["weights"].reshape(2, 2), expected_weights, rtol=2e-5)
