"""The TPU of this machine, and TensorFlow's strategy for it.

Estimators train in graphs and sessions, so the TPU is also looked for in a graph: an R session that has used TensorFlow
keeps its eager devices. TensorFlow initialises the TPU before it makes the session of a training
(``SessionManager._restore_checkpoint``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import tpu_strategy
from tensorflow.python.framework import kernels

from tfdistribute.errors import StrategyError

_RESOLVER = tf.distribute.cluster_resolver.TPUClusterResolver


def has_kernels() -> bool:
    """Return whether this TensorFlow was built for TPUs; that of PyPI knows their operations only."""
    return bool(kernels.get_registered_kernels_for_op("ConfigureDistributedTPU").kernel)


def cores() -> tuple[str, ...]:
    """Return the names of the TPU's cores.

    Raises:
        StrategyError: TensorFlow sees no TPU.
    """
    with tf.Graph().as_default():
        found = _RESOLVER("local").get_tpu_system_metadata()
    names = [tf.DeviceSpec.from_string(device.name) for device in found.devices]
    indices = sorted(name.device_index for name in names if name.device_type == "TPU")
    if not indices:
        raise StrategyError(
            "strategy_tpu() trains on the TPU of this machine, and TensorFlow finds none.",
            "Another process may use it: `sudo lsof /dev/accel* /dev/vfio/*` lists them.",
            argument="train_distribute",
            value="strategy_tpu()",
        )
    return tuple(f"/device:TPU:{index}" for index in indices)


def strategy(steps_per_run: int, devices_per_replica: int) -> Any:
    """Make TensorFlow's strategy.

    Args:
        steps_per_run: Steps of one ``session.run``.
        devices_per_replica: Cores of a replica. With more than one, the TPU is initialised now, since only then its
            topology is known.

    Raises:
        StrategyError: the topology cannot be divided into replicas of this size.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/compat/v1/distribute/experimental/TPUStrategy
    """
    resolver = _RESOLVER("local")
    with tf.Graph().as_default():
        assignment = (
            None if devices_per_replica == 1 else _assignment(resolver, devices_per_replica)
        )
        return tf.compat.v1.distribute.experimental.TPUStrategy(
            resolver, steps_per_run=steps_per_run, device_assignment=assignment
        )


def is_tpu(strategy: Any) -> bool:
    """Return whether a ``tf.distribute.Strategy``, or None, is that of a TPU."""
    return isinstance(getattr(strategy, "extended", None), tpu_strategy.TPUExtended)


def steps_per_run(strategy: Any) -> int:
    """Return the steps that a strategy takes in one ``session.run``: 1, except on a TPU."""
    return strategy.extended.steps_per_run if is_tpu(strategy) else 1


def _assignment(resolver: Any, devices_per_replica: int) -> Any:
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    shape = _computation_shape(topology.mesh_shape, devices_per_replica)
    replicas = int(topology.mesh_shape.prod()) // devices_per_replica
    return tf.tpu.experimental.DeviceAssignment.build(
        topology, computation_shape=shape, num_replicas=replicas
    )


def _computation_shape(mesh_shape: Sequence[int], devices: int) -> list[int]:
    """Choose neighbouring cores: those of a chip, the last dimension, before those of other chips."""
    shape, rest = [1] * len(mesh_shape), devices
    for dimension in reversed(range(len(mesh_shape))):
        shape[dimension] = math.gcd(rest, int(mesh_shape[dimension]))
        rest //= shape[dimension]
    if rest > 1:
        mesh = " x ".join(str(size) for size in mesh_shape)
        raise StrategyError(
            f"`devices_per_replica` is {devices}, and the cores of this TPU, {mesh}, cannot be divided so.",
            "Use a product of divisors of these numbers.",
            argument="devices_per_replica",
            value=str(devices),
        )
    return shape
