"""Contract with R: both languages refuse the values in ``tests/bad-values.json`` with the same error class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import Description, read
from tfdistribute.errors import TfdistributeError
from tfdistribute.models import FeatureColumn, Model
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import Strategy

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "bad-values.json").read_text(encoding="utf-8")
)
X = {"kind": "numeric", "key": "x"}
WORDS = {"key": "word", "vocabulary_list": ["a", "b"]}
LISTED = {"kind": "categorical_with_vocabulary_list", **WORDS}

# The description that an R function makes: family, kind, and valid values of its other arguments.
FUNCTIONS: dict[str, tuple[type[Description], str, dict[str, Any]]] = {
    "strategy_one_device": (Strategy, "one_device", {}),
    "strategy_mirrored": (Strategy, "mirrored", {}),
    "strategy_model_parallel": (Strategy, "model_parallel", {}),
    "strategy_central_storage": (Strategy, "central_storage", {}),
    "strategy_multi_worker": (Strategy, "multi_worker", {}),
    "cluster": (Cluster, "addresses", {"chief": "a:1"}),
    "local_cluster": (Cluster, "local", {"workers": 2}),
    "run_config": (RunSettings, "", {}),
    "dnn_regressor": (
        Model,
        "dnn_regressor",
        {"model_dir": "m", "hidden_units": 4, "feature_columns": X},
    ),
    "dnn_linear_combined_regressor": (
        Model,
        "dnn_linear_combined_regressor",
        {"model_dir": "m", "dnn_hidden_units": 4, "dnn_feature_columns": X},
    ),
    "linear_regressor": (Model, "linear_regressor", {"model_dir": "m", "feature_columns": X}),
    "linear_classifier": (Model, "linear_classifier", {"model_dir": "m", "feature_columns": X}),
    "column_numeric": (FeatureColumn, "numeric", {"key": "x"}),
    "column_categorical_with_vocabulary_list": (FeatureColumn, LISTED["kind"], WORDS),
    "column_categorical_with_hash_bucket": (
        FeatureColumn,
        "categorical_with_hash_bucket",
        {"key": "word", "hash_bucket_size": 10},
    ),
    "column_categorical_with_identity": (FeatureColumn, "categorical_with_identity", {"key": "k"}),
    "column_bucketized": (FeatureColumn, "bucketized", {"source_column": X}),
    "column_crossed": (FeatureColumn, "crossed", {"keys": ["a", "b"], "hash_bucket_size": 10}),
    "column_embedding": (
        FeatureColumn,
        "embedding",
        {"categorical_column": LISTED, "dimension": 2},
    ),
}


def as_description(row: dict[str, Any], value: Any) -> Any:
    """Wrap a value: R makes descriptions of optimizers and initializers from a name."""
    named = row["argument"] in ("optimizer", "initializer")
    return {"kind": "named", "name": value} if named else value


@pytest.mark.parametrize(
    ("row", "value"),
    [(row, value) for row in ROWS for value in row["values"]],
    ids=lambda each: f"{each['function']}-{each['argument']}" if isinstance(each, dict) else None,
)
def test_a_value_that_r_refuses_is_refused(row: dict[str, Any], value: Any):
    family, kind, valid = FUNCTIONS[row["function"]]
    fields = {**valid, **row.get("with", {}), row["argument"]: as_description(row, value)}
    with pytest.raises(TfdistributeError) as caught:
        read(family, {"kind": kind, **fields})
    assert (caught.value.kind, caught.value.argument) == (row["error"], row["argument"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_other_values_of_the_table_are_valid(name: str):
    family, kind, valid = FUNCTIONS[name]
    missing = {
        "strategy_one_device": {"device": "CPU:0"},
        "column_bucketized": {"boundaries": [0, 1]},
        "column_categorical_with_identity": {"num_buckets": 3},
    }
    assert read(family, {"kind": kind, **valid, **missing.get(name, {})})
