"""Devices that a model names. A session without them silently runs everything on another one."""

import functools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import functions
from tfdistribute.errors import RunConfigError


def provide_named_cpus(graph: Any, config: Any) -> None:
    named = max(map(cpus_named, set(devices_of(graph))), default=1)
    there = config.session_config.device_count.get("CPU", 1)
    if named <= there:
        return
    if config.cluster_spec.jobs:
        raise RunConfigError(
            f"model_fn places operations on CPU:{named - 1}, and the tasks of the cluster have "
            f"{there} CPU device{'s' if there > 1 else ''}.",
            f"Give run_config(session_config = list(device_count = list(CPU = {named}))).",
            argument="session_config",
            value=f"device_count CPU = {there}",
        )
    config.session_config.device_count["CPU"] = named


def missing_devices(graph: Any, config: Any) -> list[str]:
    """List the devices, such as "GPU:1", that a graph names and this process does not have.

    TensorFlow silently places their operations on other devices (``allow_soft_placement``).
    """
    missing: set[str] = set()
    for device in set(devices_of(graph)):
        named = tf.DeviceSpec.from_string(device)
        elsewhere = config.cluster_spec.jobs and named.job not in (None, config.task_type)
        kind = named.device_type
        # The strategy of a TPU has counted its cores.
        if elsewhere or kind in (None, "CPU") or kind.startswith("TPU"):
            continue
        if (named.device_index or 0) >= len(tf.config.list_physical_devices(named.device_type)):
            missing.add(f"{named.device_type}:{named.device_index or 0}")
    return sorted(missing)


def devices_of(graph: Any) -> Iterator[str]:
    for operation in graph.get_operations():
        yield operation.device
    # Bodies of loops and conditions are functions of the graph.
    for function in functions.find_all(graph):
        yield from (node.device for node in function.node_def)


@functools.lru_cache(maxsize=1024)
def type_and_index(device: str) -> tuple[str | None, int]:
    specification = tf.DeviceSpec.from_string(device)
    return specification.device_type, specification.device_index or 0


def cpus_named(device: str) -> int:
    kind, index = type_and_index(device)
    return index + 1 if kind == "CPU" else 1
