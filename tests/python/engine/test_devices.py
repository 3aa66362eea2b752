"""Devices of a session, and where its operations really run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tfdistribute import engine
from tfdistribute.cluster.spec import LocalCluster
from tfdistribute.errors import StrategyError
from tfdistribute.run_config import Devices, RunSettings, build, resolve_devices
from tfdistribute.strategies import OneDevice


def test_counts_start_no_device(run_python: Any):
    code = (
        "from tfdistribute import engine\n"
        "gpus = engine.devices.gpu_count()\n"
        "print(engine.devices.MOST_CPUS >= 8, gpus == len(engine.tf.config.list_physical_devices('GPU')))\n"
        "cpu = engine.tf.config.list_physical_devices('CPU')[0]\n"
        "two = [engine.tf.config.LogicalDeviceConfiguration()] * 2\n"
        "engine.tf.config.set_logical_device_configuration(cpu, two)\n"
        "print(len(engine.tf.config.list_logical_devices('CPU')))\n"
    )
    assert run_python(code, timeout_s=60).stdout.split() == ["True", "True", "2"]


def test_counts_do_not_depend_on_how_tensorflow_was_started(logical_cpus: list[str]):
    assert len(logical_cpus) < engine.devices.MOST_CPUS


def devices_in_use(config: Any, place: str | None = None) -> set[str]:
    """Run one addition in a session with this configuration and return the devices used."""
    tf = engine.tf
    with tf.Graph().as_default(), tf.device(place), tf.compat.v1.Session(config=config) as session:
        total = tf.compat.v1.placeholder_with_default([1.0, 2.0], [2]) * 3.0
        options = tf.compat.v1.RunOptions(output_partition_graphs=True)
        metadata = tf.compat.v1.RunMetadata()
        assert list(session.run(total, options=options, run_metadata=metadata)) == [3.0, 6.0]
        graphs = metadata.partition_graphs
        return {node.device.rpartition("/device:")[2] for graph in graphs for node in graph.node}


def test_the_one_device_of_a_strategy_is_used(tensorflow: Any, tmp_path: Path):
    settings = RunSettings(strategy=OneDevice("CPU:1"))
    devices = resolve_devices(settings)
    config = build(settings, devices)
    assert devices_in_use(config.session_config, devices.train[0][0]) >= {"CPU:1"}
    # Without the repair, TensorFlow silently uses another device.
    assert "CPU:0" in devices_in_use(engine.session_config.make({}), devices.train[0][0])


def test_the_memory_of_every_gpu_is_limited_for_sessions_too(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    limited: list[tuple[str, float]] = []
    config = tensorflow.config
    monkeypatch.setattr(config, "list_physical_devices", lambda kind: [f"{kind} a", f"{kind} b"])
    monkeypatch.setattr(
        config,
        "set_logical_device_configuration",
        lambda gpu, limits: limited.extend((gpu, each.memory_limit) for each in limits),
    )
    engine.devices.limit_gpu_memory(512)
    assert limited == [("GPU a", 512), ("GPU b", 512)]
    # A task of a cluster whose user gave no session configuration.
    settings = RunSettings(cluster=LocalCluster(workers=2, memory_limit_mb=512))
    limits = build(settings, Devices()).session_config.gpu_options.experimental.virtual_devices
    assert [list(each.memory_limit_mb) for each in limits] == [[512], [512]]

    def refuse(*_: Any) -> None:
        raise RuntimeError("Virtual devices cannot be modified after being initialized")

    monkeypatch.setattr(config, "set_logical_device_configuration", refuse)
    with pytest.raises(StrategyError, match="has started its GPUs already"):
        engine.devices.limit_gpu_memory(512)
