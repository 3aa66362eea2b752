"""This package with its defaults, from Python: ``package.py KIND`` (see ``table.py``)."""

from __future__ import annotations

import tempfile
from typing import Any

from table import BATCH, BUCKETS, CODES, DIMENSION, FEATURES, HIDDEN, KIND, LEVELS, NAMES, WORDS, Y
from way import examples_per_second, take_turns

from tfdistribute.descriptions import read
from tfdistribute.inputs import Column, InMemory
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train


def column(name: str, values: Any) -> Column:
    if values.dtype == object:
        return Column(name, "string", lambda: {"codes": CODES, "labels": WORDS})
    kind = "float" if values.dtype.kind == "f" else "integer"
    return Column(name, kind, lambda: values)


def identity(name: str, buckets: int) -> dict[str, Any]:
    return {"kind": "categorical_with_identity", "key": name, "num_buckets": buckets}


def described() -> dict[str, Any]:
    crossed = {
        "kind": "crossed",
        "keys": [identity(name, 2000) for name in "ab"],
        "hash_bucket_size": BUCKETS,
    }
    embedded = {
        "kind": "embedding",
        "categorical_column": identity("level", LEVELS),
        "dimension": DIMENSION,
    }
    numbers = [{"kind": "numeric", "key": name} for name in NAMES]
    if KIND == "crosses":
        return {"kind": "linear_classifier", "feature_columns": [crossed]}
    if KIND == "hashed":
        word = {"kind": "categorical_with_hash_bucket", "key": "word", "hash_bucket_size": LEVELS}
        return {"kind": "linear_classifier", "feature_columns": [word]}
    if KIND == "wide-and-deep":
        return {
            "kind": "dnn_linear_combined_classifier",
            "linear_feature_columns": [crossed],
            "dnn_feature_columns": [embedded, *numbers],
            "dnn_hidden_units": HIDDEN,
        }
    columns = [embedded] if KIND == "embedding" else numbers
    return {"kind": "dnn_classifier", "hidden_units": HIDDEN, "feature_columns": columns}


source = InMemory(
    (*(column(name, values) for name, values in FEATURES.items()), column("y", Y)),
    response="y",
    batch_size=BATCH,
    epochs=None,
)


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        model = read(Model, {**described(), "model_dir": directory})
        history = train(model, RunSettings(), source, steps=steps)
    return examples_per_second(history, BATCH)


take_turns(measure, warm_up=200)
