"""A TPU that is only described: graphs can be built for it, and computed by XLA on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client import session
from tensorflow.python.compiler.xla import xla
from tensorflow.python.distribute import tpu_strategy
from tensorflow.python.tpu import topology, tpu_replication, tpu_system_metadata

from tfdistribute.strategies import Tpu

_HERE = "/job:localhost/replica:0/task:0/device"


def describe(patch: pytest.MonkeyPatch, cores: int) -> None:
    """Let TensorFlow and this package find a TPU of one chip."""

    def devices(kind: str, count: int) -> list[Any]:
        make = session._DeviceAttributes
        return [make(f"{_HERE}:{kind}:{index}", kind, 0, 0) for index in range(count)]

    found = tpu_system_metadata.TPUSystemMetadata(
        num_cores=cores,
        num_hosts=1,
        num_of_cores_per_host=cores,
        topology=None,
        devices=devices("CPU", 1) + devices("TPU", cores),
    )

    def chip(resolver: Any) -> Any:
        coordinates = np.array([[[0, 0, 0, core] for core in range(cores)]])
        return topology.Topology(
            mesh_shape=np.array([1, 1, 1, cores]), device_coordinates=coordinates
        )

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver
    patch.setattr(resolver, "get_tpu_system_metadata", lambda self: found)
    patch.setattr(tf.tpu.experimental, "initialize_tpu_system", chip)
    patch.setattr(tpu_strategy.TPUExtended, "_experimental_initialize_system", lambda self: None)
    patch.setattr(Tpu, "missing_parts", lambda self: [])


def compile_for_cpu(patch: pytest.MonkeyPatch) -> None:
    """Let XLA compile the program of the first replica for the CPU.

    A sum over replicas is as many times the value of the first: what several replicas compute if all of them get the
    same rows.
    """

    def replicate(computation: Callable[..., Any], inputs: Any, **options: Any) -> list[Any]:
        # An iterator over several devices waits until each of them has taken its batch.
        with tf.control_dependencies(tf.nest.flatten(inputs[1:])):
            own = tf.nest.map_structure(tf.identity, inputs[0])
        outputs = xla.compile(computation, own)
        results = list(outputs) if isinstance(outputs, (list, tuple)) else outputs
        return [results] * len(inputs)

    def handle(self: Any, name: str, handle_id: Any, variables: Any, *others: Any) -> Any:
        return getattr(variables[0], "handle", variables[0])

    def replicas_times(value: Any, *others: Any) -> Any:
        return tf.convert_to_tensor(value) * tf.distribute.get_strategy().num_replicas_in_sync

    patch.setattr(tpu_replication, "TPUReplicateContext", xla.XLACompileContext)
    patch.setattr(xla.XLACompileContext, "get_replicated_var_handle", handle, raising=False)
    names = SimpleNamespace(replicate=replicate, XLAOptions=lambda **_: None, core=_core)
    patch.setattr(tpu_strategy, "tpu", names)
    patch.setattr(tpu_strategy.tpu_ops, "cross_replica_sum", replicas_times)


def _core(index: int) -> str:
    return f"device:TPU_REPLICATED_CORE:{index}"
