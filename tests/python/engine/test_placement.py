"""Explicit devices in model functions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from support.callbacks import as_model_fn
from support.custom_models import described, line, mean_square, settings, source

from tfdistribute import engine
from tfdistribute.errors import RunConfigError
from tfdistribute.training.train import train

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


class WhereItRuns(tf.estimator.SessionRunHook):
    """Record the device on which an operation really runs."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.devices: set[str] = set()

    def before_run(self, run_context: Any) -> Any:
        options = v1.RunOptions(output_partition_graphs=True)
        return tf.estimator.SessionRunArgs([], options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        for graph in run_values.run_metadata.partition_graphs:
            for node in graph.node:
                if node.name.endswith(self.operation):
                    self.devices.add(node.device.rpartition("device:")[2])


@pytest.mark.parametrize("strategy", ["none", "one device", "mirrored"])
def test_parts_of_a_model_run_on_the_devices_that_are_named(tmp_path: Path, strategy: str):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        with tf.device("CPU:2"):
            output, _ = line(features)
            # An operation that graph optimisation cannot fold into a constant.
            output = tf.nn.softplus(output, name="placed")
        return {"loss": mean_square(labels, output), "optimizer": "sgd"}

    where = WhereItRuns("placed")
    function = described(as_model_fn(model_fn), tmp_path)
    train(function, settings(strategy), source(), steps=2, hooks=[where])
    assert where.devices == {"CPU:2"}


def config_of(device_count: int, jobs: list[str]) -> Any:
    return SimpleNamespace(
        session_config=v1.ConfigProto(device_count={"CPU": device_count}),
        cluster_spec=SimpleNamespace(jobs=jobs),
    )


def test_devices_named_in_the_body_of_a_loop_are_provided_too():
    with tf.Graph().as_default() as graph:

        def body(value: Any) -> Any:
            with tf.device("CPU:3"):
                return tf.square(value)

        tf.while_loop(lambda value: value < 10, body, [tf.constant(2.0)])
        config = config_of(1, [])
        engine.placement.provide_named_cpus(graph, config)
    assert config.session_config.device_count["CPU"] == 4


def test_a_device_that_is_not_there_is_noted_in_the_history(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        with tf.device("GPU:7"):
            output, _ = line(features)
        return {"loss": mean_square(labels, output), "optimizer": "sgd"}

    function = described(as_model_fn(model_fn), tmp_path)
    (note,) = train(function, settings("none", steps_per_run=1), source(), steps=1).notes
    assert note.startswith("The model names the device GPU:7, which this process does not have")


def test_devices_that_are_there_and_those_of_other_tasks_are_not_noted():
    with tf.Graph().as_default() as graph:
        for device in ("CPU:2", "/job:ps/task:0/device:GPU:3", ""):
            with tf.device(device):
                tf.constant(1.0)
    config = SimpleNamespace(cluster_spec=SimpleNamespace(jobs=["ps"]), task_type="worker")
    assert engine.placement.missing_devices(graph, config) == []
    with graph.as_default(), tf.device("/job:worker/task:1/device:GPU:3"):
        tf.constant(1.0)
    assert engine.placement.missing_devices(graph, config) == ["GPU:3"]


def test_devices_that_a_clusters_tasks_do_not_have_are_refused():
    with tf.Graph().as_default() as graph, tf.device("/job:worker/task:0/device:CPU:1"):
        tf.constant(1.0)
    engine.placement.provide_named_cpus(graph, config_of(2, ["worker"]))
    with pytest.raises(RunConfigError, match="CPU:1") as caught:
        engine.placement.provide_named_cpus(graph, config_of(1, ["worker"]))
    assert "device_count = list(CPU = 2)" in str(caught.value.remedy)
