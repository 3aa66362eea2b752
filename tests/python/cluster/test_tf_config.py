"""TF_CONFIG as read from an environment."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfdistribute.cluster.tf_config import TfConfig, read_tf_config
from tfdistribute.errors import ClusterError

TWO = {"chief": ["a:1"], "worker": ["b:1"]}


def reading(content: Any) -> TfConfig | None:
    return read_tf_config({"TF_CONFIG": json.dumps(content)})


@pytest.mark.parametrize("environment", [{}, {"TF_CONFIG": " "}, {"TF_CONFIG": "{}"}])
def test_no_tf_config_is_no_cluster(environment: dict[str, str]):
    assert read_tf_config(environment) is None


def test_cluster_and_task_are_read():
    found = reading(
        {"cluster": TWO, "task": {"type": "worker", "index": 0}, "environment": "cloud"}
    )
    assert found == TfConfig({"chief": ("a:1",), "worker": ("b:1",)}, "worker", 0)
    assert found.tasks == 2
    assert found.task == "worker 0"


def test_an_evaluator_outside_the_cluster_counts_as_a_task():
    found = reading({"cluster": {"chief": ["a:1"]}, "task": {"type": "evaluator", "index": 0}})
    assert found is not None
    assert found.tasks == 2


def test_one_task_alone_is_a_cluster_of_one():
    found = reading({"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": "0"}})
    assert found == TfConfig({"chief": ("a:1",)}, "chief", 0)
    assert found.tasks == 1


def test_addresses_by_index_are_read():
    found = reading({"cluster": {"worker": {"1": "b:1", "0": "a:1"}}})
    assert found == TfConfig({"worker": ("a:1", "b:1")})
    assert found.task == "no task"


def test_broken_json_is_refused_with_its_place():
    with pytest.raises(ClusterError) as caught:
        read_tf_config({"TF_CONFIG": '{"cluster": {"chief": ["a:1"]},\n "task": {type: "chief"}}'})
    assert 'line 2, column 11, near `"]}, "task": {type: "chief"}}`.' in caught.value.problem
    assert caught.value.argument == "TF_CONFIG"
    assert "unset TF_CONFIG" in str(caught.value.remedy)


@pytest.mark.parametrize(
    "text",
    [
        '{"cluster": ' * 100_000,
        "[" * 900 + "]" * 900,
        '{"task": {"type": "worker", "index": ' + "9" * 5000 + "}}",
        '{"task": {"type": "worker", "index": "' + "9" * 5000 + '"}}',
        json.dumps(["a" * 100_000]),
    ],
)
def test_json_that_no_cluster_needs_is_refused_in_few_words(text: str):
    with pytest.raises(ClusterError, match="TF_CONFIG") as caught:
        read_tf_config({"TF_CONFIG": text})
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "TF_CONFIG must be an object in braces, not [1]."),
        ({"cluster": ["a:1"]}, 'TF_CONFIG["cluster"] must be an object'),
        (
            {"cluster": {"chief": "a:1"}},
            'TF_CONFIG["cluster"]["chief"] must be a list of addresses',
        ),
        ({"cluster": {"chief": [1]}}, 'TF_CONFIG["cluster"]["chief"] must be a list of addresses'),
        ({"cluster": TWO, "task": {"type": "chief", "index": -1}}, 'TF_CONFIG["task"] must be'),
        (
            {"cluster": TWO, "task": {"type": "worker", "index": 1}},
            "worker 1, but its cluster has 1",
        ),
        (
            {"cluster": {"worker": {"1": "b:2"}}, "task": {"type": "worker", "index": 1}},
            'TF_CONFIG["cluster"]["worker"] is a sparse cluster, which is not supported: it leaves out index 0.',
        ),
        ({"sparseCluster": {"worker": {}}}, 'has a "sparseCluster", which is not supported'),
        ({"cluster": TWO, "task": {"type": "ps", "index": 0}}, 'ps 0, but its cluster has 0 "ps"'),
    ],
)
def test_what_is_no_cluster_is_refused_by_name(content: Any, message: str):
    with pytest.raises(ClusterError) as caught:
        reading(content)
    assert message in caught.value.problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"cluster": {"chief": ["a:1"]}, "cluster": {}}', 'TF_CONFIG has "cluster" twice.'),
        ('{"cluster": ' + "[" * 100_000, "it is nested too deeply"),
        ('{"task": {"type": "chief", "index": ' + "9" * 5_000 + "}}", "TF_CONFIG cannot be read"),
        (json.dumps({"cluster": ["a:1"] * 100_000}), 'TF_CONFIG["cluster"] must be an object'),
    ],
)
def test_text_that_json_accepts_may_still_be_refused(text: str, message: str):
    with pytest.raises(ClusterError) as caught:
        read_tf_config({"TF_CONFIG": text})
    assert message in caught.value.problem
    assert len(str(caught.value)) < 2000
