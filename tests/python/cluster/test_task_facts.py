"""What two tasks are about to do, compared: the error names both, their hosts and what differs."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tfdistribute.cluster.spec import Task
from tfdistribute.cluster.task_facts import (
    TaskFacts,
    difference,
    unshared_directory,
    wrong_task,
)
from tfdistribute.errors import ClusterError, ModelDirectoryError

CHIEF = TaskFacts(
    task="chief 0",
    host="a",
    process="p1",
    cluster={"chief": ["a:1"], "worker": ["b:1"]},
    package="1.0",
    tensorflow="2.15.1",
    work="checksum 1",
    variables={"dense/kernel": [2, 4], "dense/bias": [4]},
    step=300,
    first_step=300,
    last_step=600,
    model_dir="/shared/model",
    mark="m",
)
WORKER = dataclasses.replace(CHIEF, task="worker 0", host="b", process="p2", mark=None)


def test_tasks_that_are_about_to_do_the_same_agree():
    assert difference(CHIEF, WORKER, in_step=True) is None
    server = TaskFacts(task="ps 0", host="c", process="p3", package="1.0")
    assert difference(CHIEF, server, in_step=False) is None


@pytest.mark.parametrize(
    ("other", "argument", "words"),
    [
        ({"package": "1.1"}, "tfdistribute", "the version of tfdistribute: 1.0 and 1.1."),
        ({"tensorflow": "2.16.2"}, "tensorflow", "the version of TensorFlow: 2.15.1 and 2.16.2."),
        (
            {"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}},
            "TF_CONFIG",
            'the `cluster` of TF_CONFIG: worker ["b:1"] and worker ["b:1", "c:1"].',
        ),
        ({"work": "checksum 2"}, "object", "the training: checksum 1 and checksum 2."),
        ({"step": 0}, "model_dir", "the step to begin with: 300 and 0."),
        ({"last_step": 150}, "max_steps", "the last step: 600 and 150."),
        (
            {"variables": {"dense/kernel": [2, 8], "dense/bias": [4]}},
            "object",
            "the model's variables: dense/kernel [2, 4] and dense/kernel [2, 8].",
        ),
        (
            {"variables": {"dense/kernel": [2, 4]}},
            "object",
            "the model's variables: dense/bias [4] and no dense/bias.",
        ),
    ],
)
def test_a_difference_is_named_with_both_tasks_and_their_hosts(
    other: dict[str, Any], argument: str, words: str
):
    error = difference(CHIEF, dataclasses.replace(WORKER, **other), in_step=True)
    assert isinstance(error, ClusterError)
    assert error.problem == f"chief 0 (on a) and worker 0 (on b) do not agree on {words}"
    assert error.argument == argument
    assert error.remedy


@pytest.mark.parametrize(
    ("entry", "argument", "words", "remedy"),
    [
        (
            ("object$optimizer$settings$learning_rate", 0.005, 0.05),
            "learning_rate",
            "`object$optimizer$settings$learning_rate`: 0.005 and 0.05.",
            "Start the same script on every host.",
        ),
        (
            ("input$values", "checksum 1d929cb7", "checksum 0d929cb7"),
            "values",
            "`input$values`: checksum 1d929cb7 and checksum 0d929cb7.",
            "Give every host the same script and the same data.",
        ),
        (
            ("object$hidden_units[2]", 4, "nothing"),
            "hidden_units",
            "`object$hidden_units[2]`: 4 and nothing.",
            "Start the same script on every host.",
        ),
        (
            ("object$model_fn uses helper uses rate", 0.1, 0.2),
            "rate",
            "`rate`, which `object$model_fn` uses: 0.1 and 0.2.",
            "If a value differs on purpose, compute it inside the function.",
        ),
        (
            (
                "object$model_fn",
                {"language": "R 4.2", "code": "checksum 1"},
                {"language": "R 4.2", "code": "checksum 2"},
            ),
            "model_fn",
            "`object$model_fn`: code with checksum 1 and code with checksum 2.",
            "Start the same script on every host.",
        ),
    ],
)
def test_a_difference_in_what_is_trained_is_named_by_its_field(
    entry: tuple[str, Any, Any], argument: str, words: str, remedy: str
):
    other = dataclasses.replace(WORKER, work="checksum 2", last_step=1)
    error = difference(CHIEF, other, in_step=True, in_work=entry)
    assert isinstance(error, ClusterError)
    assert error.problem == f"chief 0 (on a) and worker 0 (on b) do not agree on {words}"
    assert error.argument == argument
    assert remedy in str(error.remedy)


def test_with_parameter_servers_a_worker_may_begin_later():
    assert difference(CHIEF, dataclasses.replace(WORKER, step=320), in_step=False) is None


def test_a_long_difference_is_cut():
    long = {f"layer{number}" * 100: [1] for number in range(100)}
    error = difference(CHIEF, dataclasses.replace(WORKER, variables=long), in_step=True)
    assert len(str(error)) < 2000


def test_two_processes_that_are_the_same_task_are_named():
    second = dataclasses.replace(CHIEF, host="b", process="p2")
    error = wrong_task(CHIEF, second, Task("worker"), "b:1")
    assert error is not None
    assert error.problem == (
        "The process that answers at b:1 is chief 0 (on b), and the cluster of chief 0 (on a) has worker 0 there."
    )
    error = wrong_task(CHIEF, CHIEF, Task("worker"), "a:1")
    assert error is not None
    assert "The address of worker 0 (a:1) leads back to chief 0 (on a)" in error.problem
    assert wrong_task(CHIEF, WORKER, Task("worker"), "b:1") is None


def test_a_directory_that_is_not_shared_is_named_with_both_hosts():
    error = unshared_directory(dataclasses.replace(WORKER, model_dir="/tmp/model"), CHIEF)
    assert isinstance(error, ModelDirectoryError)
    assert 'worker 0 (on b) does not see in `model_dir` "/tmp/model"' in error.problem
    assert 'chief 0 (on a) wrote into "/shared/model"' in error.problem


def test_a_task_of_another_version_may_have_other_facts():
    text = json.dumps({**json.loads(CHIEF.as_text()), "package": "9.0", "new": 1})
    assert TaskFacts.from_text(text).package == "9.0"
