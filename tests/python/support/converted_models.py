"""Trained canned models of many columns, and their predictions by Keras."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from support.inputs import Factor, in_memory
from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import as_keras_model, concatenate, predict, train

ROWS = 1000
SGD = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.2}}
# For many columns at once.
SLOW = {**SGD, "settings": {"learning_rate": 0.005}}
WORDS = ["alpha", "beta", "gamma", "delta", "ünknown", ""]
random = np.random.default_rng(5)
# Each boundary is a number of the data, too.
BOUNDARIES = [-1.0, 0.1, 0.7]
TIMES = [1.6e9, 1.6e9 + 1, 1.6e9 + 30.5]
DATA: dict[str, Any] = {
    "x": np.concatenate([BOUNDARIES, random.normal(size=ROWS - 3)]).astype("float32"),
    "petal length": random.normal(5, 2, size=ROWS).astype("float32"),
    "pair": random.normal(size=(ROWS, 2)).astype("float32"),
    "when": np.concatenate([TIMES, 1.6e9 + random.uniform(-60, 60, ROWS - 3)]),
    "word": Factor(random.integers(0, 6, ROWS), WORDS),
    "level": Factor(random.integers(0, 3, ROWS), ["low", "mid", "high"]),
    "count": random.integers(-1, 8, ROWS).astype("int32"),
    "many": random.integers(-1, 5, (ROWS, 3)).astype("int32"),
}
NUMBER = (DATA["x"] * 2 + DATA["count"] / 4).astype("float32")


def numeric(key: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "numeric", "key": key, **fields}


def listed(key: str, values: list[Any], **fields: Any) -> dict[str, Any]:
    kind = "categorical_with_vocabulary_list"
    return {"kind": kind, "key": key, "vocabulary_list": values, **fields}


def hashed(key: str, size: int = 5, **fields: Any) -> dict[str, Any]:
    kind = "categorical_with_hash_bucket"
    return {"kind": kind, "key": key, "hash_bucket_size": size, **fields}


def identity(key: str, size: int, **fields: Any) -> dict[str, Any]:
    return {"kind": "categorical_with_identity", "key": key, "num_buckets": size, **fields}


def bucketized(source: dict[str, Any], boundaries: list[float]) -> dict[str, Any]:
    return {"kind": "bucketized", "source_column": source, "boundaries": boundaries}


def crossed(*keys: Any, **fields: Any) -> dict[str, Any]:
    return {"kind": "crossed", "keys": list(keys), "hash_bucket_size": 20, **fields}


def embedded(column: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "embedding", "categorical_column": column, "dimension": 3, **fields}


def indicator(column: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "indicator", "categorical_column": column}


X, RANGE = numeric("x"), bucketized(numeric("x"), BOUNDARIES)
NUMBERS: dict[str, dict[str, Any]] = {
    "number": X,
    "scaled": numeric("petal length", center=[5.0], scale=[2.0]),
    "pair": numeric("pair", shape=[2], center=[0.5, -0.5], scale=[2.0, 3.0]),
    "wide": numeric("when", center=[1.6e9], scale=[35.0]),
    "function": numeric("x", normalizer_fn=lambda x: (x - 1) / 2),
    "whole": numeric("count"),
    "range": RANGE,
    "ranges of a pair": bucketized(numeric("pair", shape=[2]), [-0.5, 0.5]),
    "wide range": bucketized(numeric("when"), TIMES),
    "range of a scaled number": bucketized(numeric("petal length", center=[5.0]), [-1, 1]),
    "identity": identity("count", 8),
    "identity with default": identity("count", 5, default_value=2),
}
CATEGORIES: dict[str, dict[str, Any]] = {
    "words": listed("word", WORDS[:4], default_value=-1),
    "word by default": listed("word", WORDS[:4], default_value=1),
    "known words": listed("word", WORDS[:5]),
    "one bucket for others": listed("word", WORDS[:2], num_oov_buckets=1),
    "buckets for others": listed("word", WORDS[:2], num_oov_buckets=3),
    "listed numbers": listed("count", [3, 0, 5], dtype="int64", default_value=-1),
    "buckets for numbers": listed("count", [3, 0], dtype="int64", num_oov_buckets=3),
    "hashed words": hashed("word"),
    "hashed numbers": hashed("count", dtype="int64"),
    "codes of a factor": identity("level", 3),
    "crossed by name": crossed("word", "count"),
    "crossed with a column": crossed("count", listed("word", WORDS[:4], default_value=-1)),
    "crossed columns": crossed(listed("word", WORDS[:4], num_oov_buckets=2), RANGE),
    "many": identity("many", 5),
}
REFUSED: dict[str, dict[str, Any]] = {
    "weighted": {
        "kind": "categorical_weighted",
        "categorical_column": RANGE,
        "weight_feature_key": "x",
    },
    "hash key": crossed("word", "count", hash_key=7),
    "several values": crossed("word", "many"),
    "three keys": crossed("word", crossed(RANGE, "count")),
    "missing value": listed("word", ["", "alpha"], default_value=-1),
    "function": numeric("x", normalizer_fn=lambda x: engine.tf.math.abs(x)),
}


def dense(column: dict[str, Any], combiner: str = "mean") -> dict[str, Any]:
    return (
        column
        if column["kind"] in ("numeric", "bucketized")
        else embedded(column, combiner=combiner)
    )


def wide_and_deep(column: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "kind": "dnn_linear_combined_regressor",
        "linear_feature_columns": [column],
        "linear_optimizer": SGD,
        "dnn_feature_columns": [dense(column)],
        "dnn_hidden_units": [4],
        "dnn_activation_fn": "tanh",
        "dnn_optimizer": SGD,
        **fields,
    }


CLASS = DATA["count"].clip(0) % 3
LABELS: dict[str, Any] = {
    "number": NUMBER,
    "two numbers": np.stack([NUMBER, -NUMBER], 1),
    "two classes": CLASS > 0,
    "three classes": CLASS,
    "named classes": Factor(CLASS, ["one", "two", "three"]),
}


def with_every_column(
    kind: str, label: str, columns: Mapping[str, Any] = NUMBERS | CATEGORIES
) -> dict[str, Any]:
    """Describe a model with all columns, each of which reads features of its own."""
    named = {name: _renamed(each, name) for name, each in columns.items()}
    dense = ("numeric", "bucketized")
    deep = [each if each["kind"] in dense else indicator(each) for each in named.values()]
    fields: dict[str, Any] = {
        "linear": {"feature_columns": list(named.values()), "optimizer": SLOW},
        "dnn": {"feature_columns": deep, "hidden_units": [4], "optimizer": SLOW},
        "dnn_linear_combined": {
            "linear_feature_columns": list(named.values()),
            "linear_optimizer": SLOW,
            "dnn_feature_columns": deep,
            "dnn_hidden_units": [4],
            "dnn_optimizer": SLOW,
        },
        "baseline": {"optimizer": SLOW},
    }[kind]
    if "numbers" in label:
        fields["label_dimension"] = 2
    if label in ("three classes", "named classes"):
        fields["n_classes"] = 3
    return {"kind": f"{kind}_{'classifier' if 'class' in label else 'regressor'}", **fields}


def _renamed(described: Any, name: str) -> Any:
    if isinstance(described, list):
        return [
            _renamed(each, name) if isinstance(each, (dict, str)) else each for each in described
        ]
    if isinstance(described, str):
        return f"{described} of {name}"
    changed = ("key", "keys", "source_column", "categorical_column")
    return {k: _renamed(each, name) if k in changed else each for k, each in described.items()}


EVERY = {
    f"{feature} of {name}": values
    for name in NUMBERS | CATEGORIES
    for feature, values in DATA.items()
}


def source(response: Any = NUMBER, with_label: bool = True, data: Any = DATA) -> Input:
    columns = {**data, "y": response} if with_label else data
    return in_memory(columns, "y" if with_label else None, batch_size=250, epochs=1, shuffle=False)


def trained(
    folder: Path, described: dict[str, Any], response: Any = NUMBER, data: Any = DATA
) -> Model:
    model: Any = read(Model, {"model_dir": str(folder / "model"), **described})
    train(model, RunSettings(seed=3), source(response, data=data))
    return model


def tensors(tf: Any, names: Any, data: Mapping[str, Any] = DATA) -> dict[str, Any]:
    """Return features as Keras reads them."""
    known = values(data=data)
    return {name: tf.constant(known[name].tolist(), _dtype(known[name])) for name in names}


def values(codes: bool = False, data: Mapping[str, Any] = DATA) -> dict[str, Any]:
    """Return features as columns: labels of factors, or the codes of the factor that models read by codes."""
    known = {
        name: np.array(each.levels, object)[each.codes] if isinstance(each, Factor) else each
        for name, each in data.items()
    }
    if codes:
        known["level"] = data["level"].codes
    wide = {name: each.reshape(len(each), -1) for name, each in known.items()}
    return {
        name: each.astype("int64") if each.dtype.kind == "i" else each
        for name, each in wide.items()
    }


def _dtype(values: Any) -> str:
    return "string" if values.dtype == object else values.dtype.name


def predictions(model: Model, names: Any, data: Any = DATA) -> dict[str, Any]:
    """Return what predict() predicts, by the names of Keras's outputs."""
    known = concatenate(predict(model, RunSettings(), source(with_label=False, data=data)))
    return {name: known[name] for name in names}


def check_equal(tf: Any, model: Model, data: Any = DATA) -> Any:
    """Check that Keras predicts the same as predict(), and return the model of Keras."""
    keras_model = as_keras_model(model)
    by_keras = keras_model(tensors(tf, keras_model.input, data))
    for name, wanted in predictions(model, by_keras, data).items():
        found = by_keras[name].numpy()
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6, err_msg=name)
        assert np.ptp(wanted) > 0 or "baseline" in model.kind or name == "class_ids"
    return keras_model
