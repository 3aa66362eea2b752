"""Contract with R: both languages refuse the values in ``tests/bad-values.json`` with the same error class."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tfdistribute.cluster.engines.mirai import MiraiCluster
from tfdistribute.cluster.engines.ray import RayCluster
from tfdistribute.cluster.engines.spark import SparkCluster
from tfdistribute.cluster.managed import VertexCluster
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.cluster.spec import Cluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.descriptions import Description, read, type_hints
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
    "strategy_tpu": (Strategy, "tpu", {}),
    "address_cluster": (Cluster, "addresses", {"chief": "a:1"}),
    "local_cluster": (Cluster, "local", {"workers": 2}),
    "ssh_cluster": (SshCluster, "ssh", {"hosts": "a", "workers": 2}),
    "slurm_cluster": (SlurmCluster, "slurm", {"nodes": 2, "workers": 2}),
    "ray_cluster": (RayCluster, "ray", {"workers": 2}),
    "mirai_cluster": (MiraiCluster, "mirai", {"workers": 2}),
    "spark_cluster": (SparkCluster, "spark", {"sc": "sc://localhost:15002", "workers": 2}),
    "kubernetes_cluster": (Cluster, "kubernetes", {"image": "a", "workers": 2}),
    "vertex_cluster": (
        VertexCluster,
        "vertex",
        {"project": "ab", "location": "a1", "image": "a", "staging": "gs://b/c", "workers": 2},
    ),
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

# Values of required fields that a row of the table gives.
MISSING: dict[str, dict[str, Any]] = {
    "strategy_one_device": {"device": "CPU:0"},
    "column_bucketized": {"boundaries": [0, 1]},
    "column_categorical_with_identity": {"num_buckets": 3},
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
    assert read(family, {"kind": kind, **valid, **MISSING.get(name, {})})


ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    0.5,
    2**63,
    1e300,
    math.inf,
    math.nan,
    "",
    "no such thing",
    "x" * 100_000,
    "\ud800",
    "a\nb",
    [],
    [None],
    [1, "a"],
    ["a", "a"],
    ["y" * 1000] * 100,
    list(range(100_000)),
    {},
    {"a": 1},
    {"kind": "no such kind"},
    {"kind": "y" * 100_000},
    {1: 2},
    [[[[]]]],
    b"bytes",
    object(),
    print,
)


def odd_calls(number: int) -> Iterator[tuple[str, str, Any]]:
    """Draw functions of R, a field of the description that each makes, and an odd value."""
    pairs = [
        (name, field.name)
        for name, (family, kind, _) in FUNCTIONS.items()
        for field in dataclasses.fields(family.kinds.get(kind, family))  # type: ignore[arg-type]
    ]
    draw = random.Random(7)
    for _ in range(number):
        yield (*draw.choice(pairs), draw.choice(ODD))


def test_an_odd_value_of_any_field_is_read_or_refused_by_a_short_error_that_names_it():
    for name, field, value in odd_calls(3000):
        family, kind, valid = FUNCTIONS[name]
        missing = MISSING.get(name, {})
        try:
            read(family, {"kind": kind, **missing, **valid, field: value})
        except TfdistributeError as error:
            label = f"{name}({field} = {str(value)[:50]})"
            assert len(str(error).encode(errors="replace")) < 2000, label
            # What is wrong in a mapping is a field of the mapping.
            named = f"`{field}" in str(error) or (error.argument or "").startswith(field)
            assert named or isinstance(value, dict), label


CLUSTERS = [name for name, (family, _, _) in FUNCTIONS.items() if issubclass(family, Cluster)]


def with_line_break(value: Any, hint: Any) -> Any:
    text = "a\nb" if not isinstance(value, str) else f"{value}\nb"
    return {"A": text} if typing.get_origin(hint) is dict else text


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_text_of_a_cluster_has_a_line_break(name: str):
    """Every field gets into a script, a manifest or a command line."""
    family, kind, valid = FUNCTIONS[name]
    hints = type_hints(family.kinds[kind])
    for field, hint in hints.items():
        # Lines of shell; and what this package fills in.
        if "str" not in str(hint) or field in ("setup", "source"):
            continue
        fields = {**valid, field: with_line_break(valid.get(field), hint)}
        with pytest.raises(TfdistributeError):
            read(family, {"kind": kind, **fields})


def test_lines_of_shell_are_separated_by_line_breaks_only():
    lines = "module load R\n\tmodule load cuda"
    assert SlurmCluster(nodes=1, workers=1, setup=(lines,)).setup == (lines,)
    with pytest.raises(TfdistributeError, match="`setup` must be text"):
        SlurmCluster(nodes=1, workers=1, setup=("module load R\r\n",))


def test_a_value_of_a_variable_is_not_shown():
    with pytest.raises(TfdistributeError) as caught:
        SshCluster(hosts=("a",), workers=1, environment={"KEY": "secret\n"})
    assert "secret" not in str(caught.value)
    assert caught.value.argument == "environment$KEY"
